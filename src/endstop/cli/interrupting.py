"""Ctrl-C while an agent is at work: once, the turn is finished; twice, it is cut. Both save (D10)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from endstop.runner import Runner

_LONGEST_TURN_S = 86_400.0
"""Longer than any turn may take: its own limits end it, or a second Ctrl-C does."""


@asynccontextmanager
async def finishing_on_ctrl_c(runner: Runner, on_first: Callable[[], None]) -> AsyncGenerator[None]:
    """Within this, the first Ctrl-C has every run left open after its turn, and the second cuts it.

    None is lost: one that comes while the screen is drawn for the last time is heeded before this is left.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    leaving: list[asyncio.Task[None]] = []
    unheeded = 0

    def pressed(*_: object) -> None:
        """Called between any two steps of the program, so it only counts."""
        nonlocal unheeded
        unheeded += 1
        loop.call_soon_threadsafe(heed)

    def heed() -> None:
        nonlocal unheeded
        while unheeded:
            unheeded -= 1
            if leaving:
                task.cancel()
            else:
                leaving.append(loop.create_task(runner.shutdown(seconds=_LONGEST_TURN_S)))
                on_first()

    # Not the loop's own handlers: to take one of those away lets a Ctrl-C through in between, or loses it.
    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        heed()
        for shutting in leaving:
            await shutting
