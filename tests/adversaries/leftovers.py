"""What a run may leave behind in its process: nothing. Looks at tasks, threads, children and file handles."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from endstop.tools.threads import hung_threads

_PATIENCE_S = 3.0
_POOLED = "endstop-tool-"
"""Idle threads of this name wait for the next call and end by themselves; hung ones are counted apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a process holds at one moment."""

    threads: frozenset[str]
    children: frozenset[int]
    handles: tuple[str, ...]


def held() -> Held:
    return Held(
        threads=frozenset(
            thread.name for thread in threading.enumerate() if not thread.name.startswith(_POOLED)
        ),
        children=frozenset(_descendants(os.getpid())),
        handles=_handles(),
    )


def left_since(before: Held) -> list[str]:
    """What is there now and was not there before, in words. Waits a little for what is just going away."""
    found = _left(before)
    until_s = time.monotonic() + _PATIENCE_S
    while found and time.monotonic() < until_s:
        time.sleep(0.01)
        found = _left(before)
    return found


def other_tasks() -> list[str]:
    """The tasks of the event loop but for the one that asks."""
    return [repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()]


def _left(before: Held) -> list[str]:
    now = held()
    found = [f"thread {name}" for name in now.threads - before.threads]
    found += [f"process {child}" for child in now.children - before.children]
    more = list(now.handles)
    for handle in before.handles:
        if handle in more:
            more.remove(handle)
    found += [f"file handle {handle}" for handle in more]
    found += ["a thread that was told to stop and did not"] * hung_threads()
    return found


def _descendants(process: int) -> list[int]:
    """All processes below one, also those that changed their session, by their parents."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue  # gone between the listing and the reading
        parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found: list[int] = []
    for child in parents:
        above = parents.get(child)
        while above is not None and above != process:
            above = parents.get(above)
        if above == process:
            found.append(child)
    return found


def _handles() -> tuple[str, ...]:
    """What the open file handles stand for; the pipes and sockets of asyncio itself are counted, too."""
    found: list[str] = []
    for handle in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(handle)
        except OSError:
            continue  # the handle of the listing itself
        if not target.startswith("/proc/"):
            found.append(target)
    return tuple(sorted(found))
