"""Appends to a run without end, in processes of their own that are killed by the crash test.

For each line of input it forks a process that goes on from whatever the record holds, says "ready" and its
number, and after each append up to which fact it was acknowledged. When that process is dead, it says "gone".
Usage: python appending_child.py DATABASE
"""

from __future__ import annotations

import asyncio
import os
import sys

import psycopg
from store_facts import begun, facts, turn

from endstop.errors import UnknownRunError
from endstop.store import open_store, sql_store

LOADED_ONCE = (psycopg, sql_store)
"""Rather than by each process that is forked."""


async def append_without_end() -> None:
    store = await open_store(sys.argv[1])
    try:
        seq = (await store.run("run-1")).facts
    except UnknownRunError:
        await store.append(begun())
        seq = 5
    os.write(1, b"ready %d\n" % os.getpid())
    while True:
        await store.append(facts("run-1", *turn(seq // 4), first=seq))
        seq += 4
        os.write(1, b"%d\n" % (seq - 1))


def main() -> None:
    while sys.stdin.readline():
        process = os.fork()
        if process == 0:
            asyncio.run(append_without_end())
        os.waitpid(process, 0)
        os.write(1, b"gone\n")


if __name__ == "__main__":
    main()
