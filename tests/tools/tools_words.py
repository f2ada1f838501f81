"""Words that the tests of the tools share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from endstop.ports import ToolContext

CONTEXT = ToolContext(run_id="run-1", scope="run", turn=0, call="1.1")


def is_alive(pid: int) -> bool:
    """Whether a process runs. One that is dead and waits for its parent to notice does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def comes_true(is_so: Callable[[], bool], *, within_s: float = 5.0) -> bool:
    """Whether something happens soon."""
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def open_files() -> int:
    """How many file descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))
