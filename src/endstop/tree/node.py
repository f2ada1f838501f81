"""What every node of a running tree has, and how it makes itself heard."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
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
        self._waiters: set[asyncio.Event] = set()

    def wake(self) -> None:
        self.is_awake = True
        for waiter in self._waiters:
            waiter.set()

    def wake_at(self, due_s: float) -> None:
        if due_s < self.due_s:
            self.due_s = due_s

    async def wait(self) -> None:
        """Until somebody wakes the tree, or it is due. Others get their turn in any case."""
        waiter = asyncio.Event()
        self._waiters.add(waiter)
        try:
            await asyncio.sleep(0)
            while not self.is_awake and (left_s := self.due_s - self.now()) > 0:
                waiter.clear()
                await _set_within(waiter, None if left_s == inf else max(left_s, _A_MOMENT_S))
        finally:
            self._waiters.discard(waiter)


async def _set_within(event: asyncio.Event, timeout_s: float | None) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()


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
