"""A worker in a process of its own, to be killed: ``children_worker.py URL SECONDS_PER_PAGE PAGES``."""

from __future__ import annotations

import asyncio
import sys

from children_cast import Cast, working


async def work(url: str, look_s: float, reads: int) -> None:
    async with working(url, Cast(look_s=look_s, reads=reads)):
        sys.stdout.write("working\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], float(sys.argv[2]), int(sys.argv[3])))
