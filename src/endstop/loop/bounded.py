"""Runs what is not trusted to end: for so long and no longer (A11, D10).

A run is driven by a task of its own, the *worker*. A model or a tool that the worker waits for is cut short
by cancelling the worker, which catches that and goes on. Code that takes no cancellation cannot hold the run
up: the worker is left behind in it, and another goes on from the record. Calls that run beside others have
tasks of their own. Whatever is started here is owned here: what was left behind is cancelled again at the
end, and then closed by force.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from enum import Enum, auto
from typing import Any, TypeVar

GRACE_S = 0.1
"""How long something that was cut short may take to clean up while the run waits for it."""

_MOST_CANCELS = 3

_A_MOMENT_S = 0.001
"""Time is up a moment late rather than early: the run's own clock must have reached its limit by then."""

_T = TypeVar("_T")


class Ended(Enum):
    """How it came to an end."""

    BY_ITSELF = auto()
    OUT_OF_TIME = auto()
    STALLED = auto()
    """Nothing came from it for too long."""
    CUT = auto()
    """Somebody wants everything under way to end now."""


class LeftBehind(BaseException):
    """Raised in a worker that was left behind, once the code that held it up lets go: it has to end."""


class _Call:
    """Something under way that may have to be cut short."""

    __slots__ = ("deadline_s", "fired", "is_left", "last_sign_s", "stall_s", "task")

    def __init__(
        self,
        task: asyncio.Task[Any],
        deadline_s: float | None,
        stall_s: float | None,
        last_sign_s: Callable[[], float] | None,
    ) -> None:
        self.task = task
        self.is_left = False
        """The worker was left behind in it."""
        self.deadline_s = deadline_s
        self.stall_s = stall_s if last_sign_s is not None else None
        self.last_sign_s = last_sign_s
        self.fired: Ended | None = None
        """Why it was cut short, once it was."""

    def due_s(self) -> float | None:
        """When to look at it next; None for never."""
        if self.stall_s is None or self.last_sign_s is None:
            return self.deadline_s
        stalls_s, deadline_s = self.last_sign_s() + self.stall_s, self.deadline_s
        return stalls_s if deadline_s is None or stalls_s < deadline_s else deadline_s

    def reason(self, now_s: float) -> Ended | None:
        """Why it is to be cut short now; None if it may go on."""
        if self.deadline_s is not None and now_s >= self.deadline_s:
            return Ended.OUT_OF_TIME
        if self.stall_s is not None and self.last_sign_s is not None:
            return Ended.STALLED if now_s - self.last_sign_s() >= self.stall_s else None
        return None


class _Timer:
    """Tells whoever waits for a call when it is to be cut short."""

    def __init__(self, loop: asyncio.AbstractEventLoop, waiter: asyncio.Future[Ended], call: _Call) -> None:
        self._loop = loop
        self._waiter = waiter
        self._call = call
        self._handle: asyncio.TimerHandle | None = None
        self._look()

    def _look(self) -> None:
        reason = self._call.reason(self._loop.time())
        if reason is not None:
            _tell(self._waiter, reason)
            return
        due_s = self._call.due_s()
        self._handle = None if due_s is None else self._loop.call_at(due_s, self._look)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


class Overseer:
    """Oversees what one run has under way."""

    def __init__(self) -> None:
        self.is_cutting = False
        self._here: _Call | None = None
        """What the worker itself waits for."""
        self._left: asyncio.Future[Ended] | None = None
        """Done when the worker has ended, or, with the reason, when it is to be left behind."""
        self._beside: set[asyncio.Future[Ended]] = set()
        """What runs in tasks of its own: done when that has ended, or is to be cut short."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s = 0.0
        """When it goes off, if it is set."""
        self._grace: asyncio.TimerHandle | None = None
        self._stragglers: set[asyncio.Task[Any]] = set()

    async def oversee(
        self, drive: Callable[[], Coroutine[Any, Any, _T]], pick_up: Callable[[Ended], None]
    ) -> _T:
        """Have ``drive`` run by a worker. Where one is left behind, ``pick_up`` and have another go on."""
        loop = asyncio.get_running_loop()
        while True:
            left = self._left = loop.create_future()
            worker = loop.create_task(drive())
            worker.add_done_callback(lambda _, left=left: _tell(left, Ended.BY_ITSELF))
            try:
                await left  # a future of our own: asyncio.wait would do, and is dear
            except asyncio.CancelledError:
                await self._cut_short(worker)
                raise
            finally:
                self._stop_timers()
            if worker.done():
                return worker.result()
            self._here = None
            self._stragglers.add(worker)
            pick_up(left.result())

    def cut(self) -> None:
        """End everything that is under way, and whatever is started from now on, at once."""
        self.is_cutting = True
        if self._here is not None:
            self._fire(self._here, Ended.CUT)
        for waiter in tuple(self._beside):
            _tell(waiter, Ended.CUT)

    async def run(
        self,
        work: Coroutine[Any, Any, Any],
        *,
        seconds: float | None = None,
        stall_s: float | None = None,
        last_sign_s: Callable[[], float] | None = None,
    ) -> Ended:
        """Run ``work`` in the worker until it ends, its time is up, or nothing came from it for ``stall_s``.

        ``last_sign_s`` says when something last came, on the event loop's clock.
        """
        if self.is_cutting:
            work.close()
            return Ended.CUT
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None, "this runs in a task"
        call = self._here = _Call(task, _deadline_s(loop, seconds), stall_s, last_sign_s)
        due_s = call.due_s()
        if due_s is not None and (self._timer is None or due_s < self._timer_s):
            self._set_timer(loop, due_s)
        try:
            await work
        except asyncio.CancelledError:
            if call.fired is None:
                raise
        finally:
            if self._here is call:
                self._here = None
                if self._grace is not None:
                    self._stop_grace()
        if call.is_left:
            raise LeftBehind
        if call.fired is None:
            return Ended.BY_ITSELF
        if task.uncancel():
            raise asyncio.CancelledError  # somebody else wants it to end, too
        return call.fired

    async def run_beside(
        self,
        work: Coroutine[Any, Any, Any],
        *,
        seconds: float | None = None,
        stall_s: float | None = None,
        last_sign_s: Callable[[], float] | None = None,
    ) -> Ended:
        """The same in a task of its own, beside others. It is to catch all its errors itself."""
        if self.is_cutting:
            work.close()
            return Ended.CUT
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)
        waiter: asyncio.Future[Ended] = loop.create_future()
        task.add_done_callback(lambda _: _tell(waiter, Ended.BY_ITSELF))
        timer = _Timer(loop, waiter, _Call(task, _deadline_s(loop, seconds), stall_s, last_sign_s))
        self._beside.add(waiter)
        try:
            ended = await waiter
        except asyncio.CancelledError:
            await self._cut_short(task)
            raise
        finally:
            self._beside.discard(waiter)
            timer.stop()
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
        self._stop_timers()
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

    def _set_timer(self, loop: asyncio.AbstractEventLoop, due_s: float) -> None:
        """Have the call looked at when it is due. One timer serves all calls that follow each other: one
        that is set already and goes off too early looks, finds nothing, and is set again."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(due_s, self._look)
        self._timer_s = due_s

    def _look(self) -> None:
        self._timer = None
        call = self._here
        if call is None or call.fired is not None:
            return
        loop = asyncio.get_running_loop()
        reason, due_s = call.reason(loop.time()), call.due_s()
        if reason is not None:
            self._fire(call, reason)
        elif due_s is not None:
            self._set_timer(loop, due_s)

    def _fire(self, call: _Call, reason: Ended) -> None:
        """Cut short what the worker is in. If it does not come out of it, it is left behind."""
        if call.fired is None:
            call.fired = reason
            call.task.cancel()
            self._grace = asyncio.get_running_loop().call_later(GRACE_S, self._leave_behind, call, reason)

    def _leave_behind(self, call: _Call, reason: Ended) -> None:
        if self._here is call and self._left is not None:
            call.is_left = True
            _tell(self._left, reason)

    def _stop_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None

    def _stop_timers(self) -> None:
        self._stop_grace()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _cut_short(self, task: asyncio.Task[Any]) -> None:
        self._stragglers.add(task)  # before anything else: whoever waits here may be cancelled, too
        task.cancel()
        await asyncio.wait((task,), timeout=GRACE_S)
        self._forget_ended()

    def _forget_ended(self) -> None:
        for task in [task for task in self._stragglers if task.done()]:
            _retrieved(task)
            self._stragglers.discard(task)


def _tell(waiter: asyncio.Future[Ended], ended: Ended) -> None:
    if not waiter.done():
        waiter.set_result(ended)


def _deadline_s(loop: asyncio.AbstractEventLoop, seconds: float | None) -> float | None:
    if seconds is None:
        return None
    return loop.time() + (seconds if seconds > 0 else 0.0) + _A_MOMENT_S


def _retrieved(task: asyncio.Task[Any]) -> None:
    """Look at what a task raised, so that nobody is told of it as never looked at."""
    if not task.cancelled():
        task.exception()


def _close_by_force(task: asyncio.Task[Any]) -> None:
    """End a task whose code takes no cancellation: close the code, then let the task find that out."""
    with suppress(BaseException):  # it is not ours, and may raise anything when it is closed
        task.get_coro().close()
    task.cancel()
