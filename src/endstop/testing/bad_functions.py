"""Functions that nobody should write, to be wrapped as tools: they hang, spin, fork, fail and flood.

Each takes what it takes to be tried quickly; by default each is as bad as its name.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

AN_HOUR_S = 3_600.0

ODD_TEXT = "a lone surrogate \ud800, a NUL \x00, a bell \x07, an escape \x1b[31m, and the end"

HOLDS_ITS_PIPE = 'sleep "$0" & sleep "$0" & echo started'
"""For ``sh -c``: it is gone at once, and its children keep its output open."""


def block_for_ever(seconds: float = AN_HOUR_S) -> str:
    """Blocks its thread inside the operating system, where nothing in Python can stop it."""
    time.sleep(seconds)
    return "It is over."


def busy_loop(seconds: float = AN_HOUR_S) -> str:
    """Keeps its thread busy in pure Python."""
    until_s = time.monotonic() + seconds
    turns = 0
    while time.monotonic() < until_s:
        turns += 1
    return f"{turns:,} times round."


def fork_and_hold_pipe(seconds: float = AN_HOUR_S) -> str:
    """Waits for the output of a shell that is gone, because the shell's children keep it open.

    A thread that waits so cannot be stopped: the children live for as long as ``seconds`` says.
    """
    shell = subprocess.Popen(
        ["sh", "-c", HOLDS_ITS_PIPE, str(seconds)], stdout=subprocess.PIPE, start_new_session=True
    )
    with shell:
        try:
            output, _ = shell.communicate()
        except BaseException:
            kill_group(shell.pid)
            raise
    return output.decode()


def fail_with_time_stamp() -> str:
    """Fails the same way each time, but for the time stamp in its words."""
    raise RuntimeError(f"2026-01-01T00:00:00Z plus {time.monotonic():.6f} s: connection refused")


def return_50_mb(megabytes: int = 50) -> str:
    """Returns far more than anybody can read."""
    line = "All work and no play makes a dull agent.\n"
    return (line * (megabytes * 1_000_000 // len(line) + 1))[: megabytes * 1_000_000]


def return_odd_text() -> str:
    """Returns characters that no database and no terminal likes."""
    return ODD_TEXT


def raise_system_exit() -> str:
    """Asks the process to end."""
    raise SystemExit(3)


def raise_keyboard_interrupt() -> str:
    """Pretends that somebody pressed Ctrl-C."""
    raise KeyboardInterrupt


def raise_generator_exit() -> str:
    """Raises what belongs to generators alone."""
    raise GeneratorExit


def kill_group(leader: int) -> None:
    """Kill a process group. Gone already is good."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


BAD_FUNCTIONS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            block_for_ever,
            busy_loop,
            fork_and_hold_pipe,
            fail_with_time_stamp,
            return_50_mb,
            return_odd_text,
            raise_system_exit,
            raise_keyboard_interrupt,
            raise_generator_exit,
        )
    }
)
"""All of them, by name."""
