"""Asking the person at the terminal something while everything else goes on."""

from __future__ import annotations

import asyncio
import os
import sys

from endstop.cli.output import Output

_MOST_BYTES = 65_536


def may_ask(output: Output) -> bool:
    """Whether somebody is there to be asked: at a terminal, on both sides."""
    return output.is_terminal and sys.stdin is not None and sys.stdin.isatty()


async def asked_line(prompt: str) -> str:
    """The line that the person types; empty for Enter alone and for the end of the input.

    Cancelling this ceases to wait at once, so that Ctrl-C and SIGTERM are heeded, too. A terminal hands
    over whole lines.
    """
    sys.stdout.write(prompt)
    sys.stdout.flush()
    loop = asyncio.get_running_loop()
    typed = loop.create_future()
    terminal = sys.stdin.fileno()

    def read() -> None:
        if not typed.done():
            typed.set_result(os.read(terminal, _MOST_BYTES))

    loop.add_reader(terminal, read)
    try:
        line: bytes = await typed
    finally:
        loop.remove_reader(terminal)
    if not line:  # the end of the input: the cursor still stands behind the question
        sys.stdout.write("\n")
    return line.decode(errors="replace").strip()


async def agreed(question: str) -> bool:
    """Whether the person says yes. Enter alone is no."""
    return (await asked_line(f"{question} [y/N]: ")).lower() in ("y", "yes")
