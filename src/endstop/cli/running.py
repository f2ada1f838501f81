"""Opening Endstop for a command, and leaving it well: also on Ctrl-C and when the process is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from endstop.cli.errors import DEBUG
from endstop.cli.output import Output

if TYPE_CHECKING:
    from endstop.app import App

T = TypeVar("T")

TERMINATED = 143
"""Told to end: 128 + SIGTERM. What was under way is saved and left open."""


def with_app(work: Callable[[App, Output], Awaitable[int]], *, is_json: bool) -> None:
    """Do the work of a command on the configured database, and leave with the code it returns."""
    from endstop.app import open_app
    from endstop.app.collector import set_collector

    async def opened() -> int:
        async with open_app() as app:
            set_collector()  # everything is loaded by now
            return await work(app, Output(is_json=is_json))

    raise typer.Exit(run_async(opened()))


def run_async(
    work: Coroutine[Any, Any, int],
    *,
    new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> int:
    """Run it to its end. Ctrl-C or SIGTERM cancels it, so that what is under way is saved first."""
    is_told_to_end = False

    async def listening() -> int:
        nonlocal is_told_to_end
        task = asyncio.current_task()
        assert task is not None, "a coroutine runs in a task"

        def end() -> None:
            nonlocal is_told_to_end
            is_told_to_end = True
            task.cancel()

        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_strays)
        with suppress(NotImplementedError):  # not on every system; there the process just ends
            loop.add_signal_handler(signal.SIGTERM, end)
        with _cancelled_by_ctrl_c(task, loop):
            return await work

    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(listening())
    except asyncio.CancelledError:
        if is_told_to_end:
            return TERMINATED
        raise KeyboardInterrupt from None


@contextmanager
def _cancelled_by_ctrl_c(task: asyncio.Task[int], loop: asyncio.AbstractEventLoop) -> Generator[None]:
    """Ctrl-C cancels the task, however often it is pressed.

    What asyncio does by itself is to break off its loop at the second one. That may be in the very moment in
    which the task was to be woken by the first: then it is never woken, and the program hangs.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:  # whoever started this wants it so, such as a shell in the background
        yield
        return

    def pressed(*_: object) -> None:
        loop.call_soon_threadsafe(task.cancel)

    signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _strays(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What models and tools of others leave behind is their fault, and nothing for the user's screen."""
    if os.environ.get(DEBUG):
        loop.default_exception_handler(context)
