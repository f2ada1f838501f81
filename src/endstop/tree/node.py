"""What every node of a running tree has, and how it makes itself heard."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from inspect import isawaitable, iscoroutine
from math import inf
from typing import TypeAlias

from endstop.errors import InvalidValueError, cause
from endstop.tree.status import RunStatus

SUCCESS = RunStatus.SUCCESS
FAILURE = RunStatus.FAILURE
RUNNING = RunStatus.RUNNING

NOT_OURS = (Exception, asyncio.CancelledError)
"""What the code of others may raise: a failure of the node that called it. A cancellation that it raises by
itself is no reason to end the tree, either."""

Check: TypeAlias = Callable[[], object]
"""A condition, ready to be looked at."""


_A_MOMENT_S = 0.001
"""Timers and the tree's own clock may differ a little: looking again must not become spinning."""


class Pulse:
    """Knows whether the tree has to be ticked again, and when at the latest."""

    __slots__ = ("_waiters", "due_s", "is_awake", "now")

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.is_awake = False
        """Something has happened since the last tick began."""
        self.due_s = inf
        """When a running node wants to be looked at, whatever happens. Told anew at every tick."""
        self._waiters: set[asyncio.Future[None]] = set()

    def wake(self) -> None:
        self.is_awake = True
        for waiter in self._waiters:
            _finish(waiter)

    def wake_at(self, due_s: float) -> None:
        if due_s < self.due_s:
            self.due_s = due_s

    async def wait(self, most_s: float = inf) -> bool:
        """Until somebody wakes the tree, or it is due; False if neither was so within ``most_s``.

        Others get their turn in any case.
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + most_s  # by the loop's clock, which goes on even if the tree's does not
        if self.is_awake or self._left_s() <= 0:
            await asyncio.sleep(0)
        while not self.is_awake and (left_s := self._left_s()) > 0:
            most_s = until_s - loop.time()
            if most_s <= 0:
                return False
            await self._woken_within(min(left_s, most_s), loop)
        return True

    def _left_s(self) -> float:
        return inf if self.due_s == inf else self.due_s - self.now()

    async def _woken_within(self, most_s: float, loop: asyncio.AbstractEventLoop) -> None:
        """A future and a timer of our own: an event within a time limit does the same, and is dear."""
        waiter: asyncio.Future[None] = loop.create_future()
        timer = None if most_s == inf else loop.call_later(max(most_s, _A_MOMENT_S), _finish, waiter)
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
            if timer is not None:
                timer.cancel()


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Node(ABC):
    """A node of a running tree.

    ``tick`` never waits. Between ticks a node is idle or running. One that has ended, or was halted, is idle
    and starts afresh at its next tick.
    """

    __slots__ = ("children", "error", "is_running")

    def __init__(self, children: Sequence[Node] = ()) -> None:
        self.children = tuple(children)
        self.is_running = False
        self.error: str | None = None
        """What went wrong in it last, in words."""

    @abstractmethod
    def tick(self) -> RunStatus: ...

    @abstractmethod
    def halt(self) -> None:
        """Put an end to what is under way in it and below. Does nothing to an idle node."""

    def fail(self, error: BaseException) -> RunStatus:
        """Something that this node called has raised: that is a failure, and kept for people to see."""
        self.error = cause(error)
        return FAILURE

    def holds(self, check: Check) -> bool:
        """Whether a condition holds. One that raises does not."""
        try:
            return truth(check())
        except NOT_OURS as error:
            self.fail(error)
            return False


def truth(answer: object) -> bool:
    """What a condition meant. It has to answer at once: what would have to be waited for is no answer."""
    if isawaitable(answer):
        if iscoroutine(answer):
            answer.close()
        raise InvalidValueError("answer of a condition", answer, allowed="true or false, at once")
    return bool(answer)
