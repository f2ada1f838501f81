"""Threads for functions that block.

They are ours, not asyncio's: daemons, so that one which hangs keeps nobody from leaving. An idle one is used
again; one whose call was given up is told to stop, is never used again, and is counted until it has ended.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import ParamSpec, TypeVar, cast

from endstop.tools.stopping import GivenUp, Stopper, own_clock

IDLE_S = 10.0
"""An idle thread ends after this long."""
MOST_IDLE = 32

P = ParamSpec("P")
R = TypeVar("R")


async def call_in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call ``function`` in a thread, with the context variables of the caller.

    What it raises is raised here. When this is cancelled it ends at once; the thread is told to stop.
    """
    call = _Call(lambda: function(*args, **kwargs))
    _worker().calls.put(call)
    try:
        await call.done
    except BaseException:
        call.give_up()
        raise
    error, call.error = call.error, None
    if error is not None:
        try:
            raise error
        finally:
            del error  # else the error and this frame, which its traceback holds, keep each other alive
    return cast("R", call.value)


def hung_threads() -> int:
    """How many threads still run a call that was given up."""
    return _stopper.hung()


class _Call:
    """One call: run by a thread, awaited by a coroutine."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._context: Context = copy_context()
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._clock: int | None = None
        self._is_over = False
        self._is_given_up = False
        self._given_up: GivenUp | None = None
        self.value: object = None
        self.error: BaseException | None = None

    def run(self, thread: threading.Thread, clock: int | None) -> bool:
        """Run it, in the thread. Whether the thread may be used again."""
        with self._lock:
            if self._is_given_up:
                return True
            self._thread, self._clock = thread, clock
        try:
            self.value = self._context.run(self._function)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what came of the call
            self.error = error
        with self._lock:
            self._is_over = True
            if self._given_up is not None:
                self._given_up.is_over = True
            return not self._is_given_up

    def deliver(self) -> None:
        """Wake the coroutine, from the thread."""
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            return  # the loop is closed: nobody waits

    def give_up(self) -> None:
        """Nobody waits any more: tell the thread to stop, unless the call is over or never began."""
        with self._lock:
            if self._is_over:
                return
            self._is_given_up = True
            if self._thread is None:
                return
            self._given_up = GivenUp(self._thread, self._clock, self._lock)
        _stopper.stop(self._given_up)

    def _wake(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


class _Worker:
    """A thread that runs calls, one after the other."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[_Call] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"endstop-tool-{next(_numbers)}", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        clock = own_clock()
        while True:
            try:
                call = self.calls.get(timeout=IDLE_S)
            except Empty:
                if _is_leaving(self):
                    return
                continue
            if not call.run(self._thread, clock):
                return
            if len(_idle) >= MOST_IDLE:
                call.deliver()
                return
            # Idle before it delivers: whoever is woken finds this thread, and needs no new one.
            _idle.append(self)
            call.deliver()
            del call


_idle: list[_Worker] = []
_numbers = itertools.count(1)
_stopper = Stopper()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads do not live on in a forked child


def _worker() -> _Worker:
    try:
        return _idle.pop()
    except IndexError:
        return _Worker()


def _is_leaving(worker: _Worker) -> bool:
    """Whether an idle thread may end. Not when somebody has just taken it: then a call is on its way."""
    try:
        _idle.remove(worker)
    except ValueError:
        return False
    return True
