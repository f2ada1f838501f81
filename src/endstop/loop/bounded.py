"""Runs what is not trusted to end: in a task of its own, for so long and no longer (A11, D10).

Whatever is started here is owned here. What does not end when it is cancelled is asked again, then closed by
force, and no one waits for it meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from enum import Enum, auto
from typing import Any

GRACE_S = 0.1
"""How long something that was cut short may take to clean up while the run waits for it."""

_MOST_CANCELS = 3

_A_MOMENT_S = 0.001
"""Time is up a moment late rather than early: the run's own clock must have reached its limit by then."""


class Ended(Enum):
    """How it came to an end."""

    BY_ITSELF = auto()
    OUT_OF_TIME = auto()
    STALLED = auto()
    """Nothing came from it for too long."""
    CUT = auto()
    """Somebody wants everything under way to end now."""


class Overseer:
    """Oversees what one run has under way."""

    def __init__(self) -> None:
        self.is_cutting = False
        self._waiting: set[asyncio.Future[Ended]] = set()
        self._stragglers: set[asyncio.Task[Any]] = set()

    def cut(self) -> None:
        """End everything that is under way, and whatever is started until ``stop_cutting``, at once."""
        self.is_cutting = True
        for waiter in tuple(self._waiting):
            if not waiter.done():
                waiter.set_result(Ended.CUT)

    async def run(
        self,
        work: Coroutine[Any, Any, Any],
        *,
        seconds: float | None = None,
        stall_s: float | None = None,
        last_sign_s: Callable[[], float] | None = None,
    ) -> Ended:
        """Run ``work`` until it ends, its time is up, or nothing has come from it for ``stall_s``.

        ``last_sign_s`` says when something last came, on the event loop's clock. What ``work`` raises is its
        own affair: it is to catch all its errors itself.
        """
        if self.is_cutting:
            work.close()
            return Ended.CUT
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)
        waiter: asyncio.Future[Ended] = loop.create_future()
        alarm = _Alarm(loop, waiter, seconds=seconds, stall_s=stall_s, last_sign_s=last_sign_s)
        task.add_done_callback(lambda _: None if waiter.done() else waiter.set_result(Ended.BY_ITSELF))
        self._waiting.add(waiter)
        try:
            ended = await waiter
        except asyncio.CancelledError:
            await self._cut_short(task)
            raise
        finally:
            self._waiting.discard(waiter)
            alarm.cancel()
        if ended is Ended.BY_ITSELF:
            _retrieved(task)
        else:
            await self._cut_short(task)
        return ended

    async def pause(self, seconds: float) -> bool:
        """Wait. False if everything is to end before that."""
        return await self.run(asyncio.sleep(seconds)) is Ended.BY_ITSELF

    async def close(self) -> int:
        """Put an end to all that was cut short and has not ended. Returns how many could not be ended."""
        for _ in range(_MOST_CANCELS):
            if not self._stragglers:
                return 0
            for task in self._stragglers:
                task.cancel()
            await asyncio.wait(self._stragglers, timeout=GRACE_S / _MOST_CANCELS)
            self._forget_ended()
        for task in self._stragglers:
            _close_by_force(task)
        await asyncio.sleep(0)
        self._forget_ended()
        return len(self._stragglers)

    async def _cut_short(self, task: asyncio.Task[Any]) -> None:
        self._stragglers.add(task)  # before anything else: whoever waits here may be cancelled, too
        task.cancel()
        await asyncio.wait((task,), timeout=GRACE_S)
        self._forget_ended()

    def _forget_ended(self) -> None:
        for task in [task for task in self._stragglers if task.done()]:
            _retrieved(task)
            self._stragglers.discard(task)


class _Alarm:
    """Goes off when time is up, or when nothing has come for too long."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        waiter: asyncio.Future[Ended],
        *,
        seconds: float | None,
        stall_s: float | None,
        last_sign_s: Callable[[], float] | None,
    ) -> None:
        self._loop = loop
        self._waiter = waiter
        now = loop.time()
        self._deadline = None if seconds is None else now + max(seconds, 0.0) + _A_MOMENT_S
        self._stall_s = stall_s
        self._last_sign_s = last_sign_s or (lambda: now)
        self._timer: asyncio.TimerHandle | None = None
        self._set()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _set(self) -> None:
        when = self._deadline
        if self._stall_s is not None:
            stalls_at = self._last_sign_s() + self._stall_s
            when = stalls_at if when is None else min(when, stalls_at)
        if when is not None:
            self._timer = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        if self._waiter.done():
            return
        now = self._loop.time()
        if self._deadline is not None and now >= self._deadline:
            self._waiter.set_result(Ended.OUT_OF_TIME)
        elif self._stall_s is not None and now - self._last_sign_s() >= self._stall_s:
            self._waiter.set_result(Ended.STALLED)
        else:
            self._set()


def _retrieved(task: asyncio.Task[Any]) -> None:
    """Look at what a task raised, so that nobody is told of it as never looked at."""
    if not task.cancelled():
        task.exception()


def _close_by_force(task: asyncio.Task[Any]) -> None:
    """End a task whose code takes no cancellation: close the code, then let the task find that out."""
    with suppress(BaseException):  # it is not ours, and may raise anything when it is closed
        task.get_coro().close()
    task.cancel()
