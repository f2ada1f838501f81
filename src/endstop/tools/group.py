"""The death of a process group, of those who have left it, and of it when we die first."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from pathlib import Path

MARK = "ENDSTOP_COMMAND"
"""In the environment of a command and all its children, also of those who leave its process group."""

_GUARD = """
read -r group && { read -r never; kill -s KILL -- "-$group"; }
for round in 1 2 3; do
    for environment in /proc/[0-9]*/environ; do
        if grep -qs "$1" "$environment"; then
            pid=${environment#/proc/}
            kill -s KILL "${pid%/environ}"
        fi
    done
    sleep 0.1
done
"""
"""Learns the group from its standard input. When that ends while the guard still lives, we have died. Then
it also kills what bears the mark: what left the group, and a command whose group it was never told of."""
_MOST_SWEEPS = 20


class DeathGuard:
    """A tiny process that kills a process group when our own process dies without a word (SIGKILL).

    A shell and not ``PR_SET_PDEATHSIG``: that would need code between fork and exec, which is not safe
    in a process with threads, and would reach the command only, not its children.
    """

    def __init__(self, mark: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # without it a command runs as well, only less guarded
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "endstop-guard", f"{MARK}={mark}"],
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )

    def watch(self, group: int) -> None:
        """From now on that group dies with us."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(f"{group}\n".encode())

    def dismiss(self) -> None:
        """The group is gone: the guard, too. Killed first, so that it never takes this for our death."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a whole group; nothing happens if there is none left in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def close_pipes(process: asyncio.subprocess.Process) -> None:
    """Free the pipes of a process, also when something is left to read in them, or somebody still holds their
    other ends."""
    transport = getattr(process, "_transport", None)  # nothing public gives it out
    if isinstance(transport, asyncio.SubprocessTransport):
        transport.close()


def kill_marked(mark: str) -> None:
    """Kill every process with that mark in its environment, until there is none left. Linux only."""
    for _ in range(_MOST_SWEEPS):
        if not _swept(f"{MARK}={mark}".encode()):
            return


def _swept(entry: bytes) -> int:
    """How many were killed."""
    killed = 0
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return 0
    for number in numbers:
        with contextlib.suppress(OSError):
            killed += _killed_if_marked(int(number), entry)
    return killed


def _killed_if_marked(pid: int, entry: bytes) -> bool:
    environment = Path(f"/proc/{pid}/environ")
    if entry not in environment.read_bytes():
        return False
    process = os.pidfd_open(pid)  # holds on to this very process, while its number could go to another
    try:
        if entry not in environment.read_bytes():
            return False
        signal.pidfd_send_signal(process, signal.SIGKILL)
    finally:
        os.close(process)
    return True
