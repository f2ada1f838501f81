"""What a command and all it started take together: processes and memory. Too much of either ends it.

The limits of the system are for each process by itself (and for root there is none on their number), so a
command could have as much as it likes by starting more of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from pathlib import Path

from endstop.tools.threads import call_in_thread

CONFINED = "ENDSTOP_CONFINED"
"""In the environment of a confined command, and of what it starts."""
MOST_PROCESSES = 512

_SHORTEST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 0.5
_MB = 1_000_000
_SHARED_OUT = re.compile(rb"^(?:Pss|SwapPss):\s+(\d+) kB", re.MULTILINE)


class Watch:
    """Watches the processes that bear a mark, and all in the same process namespace. Linux only."""

    def __init__(self, mark: str, *, most_bytes: int, most_processes: int = MOST_PROCESSES) -> None:
        self._entry = f"{CONFINED}={mark}".encode()
        self._most_bytes = most_bytes
        self._most_processes = most_processes
        self._namespaces: set[str] = set()
        self._is_over = asyncio.Event()
        self.excess = ""
        """Why it was ended, in words; empty if it was not."""

    async def keep(self) -> None:
        """Look again and again, until it was too much, or ``end`` is called."""
        pause_s = _SHORTEST_PAUSE_S
        while not self.excess:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._is_over.wait()
            if self._is_over.is_set():
                return
            await call_in_thread(self.look)
            pause_s = min(1.5 * pause_s, _LONGEST_PAUSE_S)

    def end(self) -> None:
        """The command has ended. A look that is under way is not broken off: it has files open."""
        self._is_over.set()

    def look(self) -> None:
        """Look once, and kill all of them if it is too much."""
        pids = self._members()
        if len(pids) > self._most_processes:
            self.excess = f"more than {self._most_processes:,} processes"
        elif takes_more(pids, self._most_bytes):
            self.excess = f"more than {self._most_bytes // _MB:,} MB of memory"
        if self.excess:
            for pid in pids:
                self._kill(pid)

    def _members(self) -> list[int]:
        try:
            ours = os.readlink("/proc/self/ns/pid")
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        except OSError:
            return []
        return [pid for pid in pids if self._is_member(pid, ours)]

    def _is_member(self, pid: int, ours: str) -> bool:
        try:
            namespace = os.readlink(f"/proc/{pid}/ns/pid")
            if namespace in self._namespaces:
                return True
            if self._namespaces or self._entry not in Path(f"/proc/{pid}/environ").read_bytes():
                return False
        except OSError:
            return False  # gone, or somebody else's
        if namespace != ours:  # all in there are its own, also those who have wiped their environment
            self._namespaces.add(namespace)
        return True

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(OSError):
            process = os.pidfd_open(
                pid
            )  # holds on to this very process, while its number could go to another
            try:
                if self._is_member(pid, os.readlink("/proc/self/ns/pid")):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
            finally:
                os.close(process)


def takes_more(pids: list[int], most_bytes: int) -> bool:
    """Whether they take more memory than that. What they share is counted once, which takes a longer look."""
    page = os.sysconf("SC_PAGE_SIZE")
    if sum(_resident_pages(pid) for pid in pids) * page <= most_bytes:
        return False
    return sum(_own_bytes(pid) for pid in pids) > most_bytes


def _resident_pages(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
    except (OSError, IndexError):
        return 0


def _own_bytes(pid: int) -> int:
    try:
        shares = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
    except OSError:
        return 0
    return 1_024 * sum(int(kilobytes) for kilobytes in _SHARED_OUT.findall(shares))
