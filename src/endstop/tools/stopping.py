"""Stopping a thread whose call was given up.

Python can raise an exception inside another thread, but a thread that waits inside C takes no notice until it
is back, and all the while the interpreter runs slower (under a tracer, Python 3.11 even stands still). So a
thread is told only while it is seen to work: when it has used processor time since it was given up.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

SHORTEST_PAUSE_S = 0.002
LONGEST_PAUSE_S = 0.25


class ThreadToldToStop(SystemExit):
    """Raised inside a thread whose call was given up.

    A SystemExit, because that ends a thread in silence wherever it strikes.
    """


def own_clock() -> int | None:
    """The clock of the processor time of the thread that asks; None where there is no such thing."""
    get_clock: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)
    return None if get_clock is None else get_clock(threading.get_ident())


class GivenUp:
    """A thread that is to stop."""

    def __init__(self, thread: threading.Thread, clock: int | None, lock: threading.Lock) -> None:
        """``lock`` is held by the thread when it leaves the call; then ``is_over`` is set."""
        self._thread = thread
        self._clock = clock
        self._lock = lock
        self._used_s = self._processor_s()
        self.is_over = False

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def told(self) -> bool:
        """Tell it, if it works. Whether there is nothing more to be done."""
        with self._lock:
            if self.is_over or not self._thread.is_alive():
                return True
            if self._clock is not None and self._processor_s() <= self._used_s:
                return False
            identity = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(ThreadToldToStop))
            return True

    def _processor_s(self) -> float:
        if self._clock is None:
            return 0.0
        try:
            return time.clock_gettime(self._clock)
        except OSError:
            return 0.0  # it has just ended


class Stopper:
    """Looks after all threads that are to stop, in a thread of its own that lives as long as needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[GivenUp] = []
        self._hung: list[GivenUp] = []
        self._is_running = False
        self._news = threading.Event()

    def stop(self, one: GivenUp) -> None:
        with self._lock:
            self._waiting.append(one)
            self._hung.append(one)
            self._news.set()
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._work, name="endstop-stopper", daemon=True).start()

    def hung(self) -> int:
        """How many are still alive."""
        with self._lock:
            self._hung = [one for one in self._hung if one.is_alive]
            return len(self._hung)

    def _work(self) -> None:
        pause_s = SHORTEST_PAUSE_S
        while True:
            if self._news.wait(pause_s):
                self._news.clear()
                pause_s = SHORTEST_PAUSE_S
                time.sleep(pause_s)  # so that one which works has had the time to show it
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            with self._lock:
                self._waiting = [one for one in self._waiting if not one.told()]
                if not self._waiting and not self._news.is_set():
                    self._is_running = False
                    return
