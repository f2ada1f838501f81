"""What goes on beside a tree: each task has an owner, and ends when it is told to, or is ended (E1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeAlias

from endstop.errors import EndstopError

CLOSING_S = 0.2
"""How long tasks that were cancelled are waited for when a tree is closed."""

MOST_LEFT = 1_000
"""So many tasks that were cancelled may be on their way to their end. More, and nothing new is begun."""

_CANCELS = 3

Work: TypeAlias = Coroutine[Any, Any, Any]


class Tasks:
    """Starts tasks, and looks after those that were given up until they have ended."""

    __slots__ = ("_left", "_under_way", "_wake")

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._left: set[asyncio.Task[Any]] = set()
        self._under_way: set[asyncio.Task[Any]] = set()
        """Those whose end the tree does not know of."""

    def start(self, begin: Callable[[], Work]) -> asyncio.Task[Any]:
        """Begin something. The tree is woken when it has ended."""
        loop = asyncio.get_running_loop()  # before anything is begun that could not be gone on with
        if len(self._left) >= MOST_LEFT:
            raise EndstopError(
                f"{len(self._left):,} actions were halted and have not ended",
                allowed=f"fewer than {MOST_LEFT:,} at a time",
                to_do="Let actions end when they are cancelled",
            )
        task = loop.create_task(begin())
        task.add_done_callback(self._ended)
        self._under_way.add(task)
        return task

    def take(self, task: asyncio.Task[Any]) -> object:
        """What a task gave that has ended. The tree need not be woken for it, if it was not yet."""
        self._under_way.discard(task)
        return task.result()

    def give_up(self, task: asyncio.Task[Any]) -> None:
        """Cancel a task. Nobody waits for what comes of it, but it is not lost sight of."""
        self._under_way.discard(task)
        if not task.done():
            self._left.add(task)
            task.cancel()

    async def close(self) -> int:
        """See to it that all that was given up ends: in bounded time, and by force if need be.

        Returns how many would not end even so.
        """
        for _ in range(_CANCELS):
            if not self._left:
                return 0
            for task in self._left:
                task.cancel()
            await asyncio.wait(tuple(self._left), timeout=CLOSING_S / _CANCELS)
        for task in self._left:
            _end_by_force(task)
        if self._left:
            await asyncio.wait(tuple(self._left), timeout=0.01)
        return len(self._left)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled():
            task.exception()  # looked at, so that nobody is told of it as never looked at
        self._left.discard(task)
        if task in self._under_way:
            self._under_way.discard(task)
            self._wake()


def _end_by_force(task: asyncio.Task[Any]) -> None:
    """Close code that takes no notice of being cancelled; the task finds out when cancelled again."""
    with suppress(BaseException):  # it is not ours, and may raise anything while it is closed
        task.get_coro().close()
    task.cancel()
