"""Ctrl-C while an agent is at work: once, the turn is finished; twice, it is cut. Both save (D10)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from endstop.runner import Runner

_LONGEST_TURN_S = 86_400.0
"""Longer than any turn may take: its own limits end it, or a second Ctrl-C does."""


@asynccontextmanager
async def finishing_on_ctrl_c(runner: Runner, on_first: Callable[[], None]) -> AsyncGenerator[None]:
    """Within this, the first Ctrl-C has every run left open after its turn, and the second cuts it."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    leaving: list[asyncio.Task[None]] = []

    def interrupted() -> None:
        if leaving:
            task.cancel()
        else:
            leaving.append(loop.create_task(runner.shutdown(seconds=_LONGEST_TURN_S)))
            on_first()

    before = signal.getsignal(signal.SIGINT)
    with suppress(NotImplementedError):  # not on every system; there Ctrl-C cuts the turn at once
        loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
        for shutting in leaving:
            await shutting
