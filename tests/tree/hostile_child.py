"""Reads every file it is given in a process with little memory, and tells how much it took at most."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from endstop.errors import TreeError
from endstop.tree.lua import read_tree

ROOM_BYTES = 256_000_000


def _memory_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _size_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()


def main(files: list[str]) -> None:
    read_tree('return BT.tree("t", { root = BT.action("a.b") })', file="t.lua")
    limit = _size_bytes() + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before = _memory_kb()
    refused = 0
    for file in files:
        try:
            read_tree(Path(file).read_text(encoding="utf-8"), file=file)
        except TreeError:
            refused += 1
    print(refused, _memory_kb() - before)  # noqa: T201 - this is what the test reads


if __name__ == "__main__":
    main(sys.argv[1:])
