"""A worker process for tests: ``python scale_worker.py '{"url": …, "folder": …, …}'``.

It says ``ready`` when it works, drains on SIGTERM, and takes what ``WorkerWanted`` of ``scale_stage`` has.
With ``clock_s`` all its clocks that tell the date are off by so many seconds.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any


async def worked(wanted: dict[str, Any]) -> None:
    from scale_cast import maker

    from endstop.app import SystemClock
    from endstop.runner import Runner
    from endstop.runner.scale.engine import Engine
    from endstop.runner.scale.worker import Worker
    from endstop.server.logs import log_to
    from endstop.store import open_store

    log_to()
    effects = Path(wanted["folder"]) / "effects.log"
    async with Engine(wanted["url"]) as engine:
        store = await open_store(wanted["url"])
        runner = Runner(store, clock=SystemClock(), agent_of=maker(effects))
        worker = Worker(
            store,
            engine,
            runner,
            concurrency=wanted["concurrency"],
            queues=wanted["queues"],
            per_user=wanted["per_user"],
            per_model=wanted["per_model"],
            beat_s=wanted["beat_s"],
            silent_s=wanted["silent_s"],
        )
        working = asyncio.create_task(worker.run())
        draining: list[asyncio.Task[None]] = []

        def drain() -> None:
            draining.append(asyncio.get_running_loop().create_task(worker.drain(seconds=wanted["drain_s"])))

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, drain)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await working
        await asyncio.gather(*draining)
        await runner.shutdown()
        await store.close()


def set_clock(apart_s: float) -> None:
    """Have this process live in another time, before anything looks at the clock."""
    import datetime

    from procrastinate import utils

    real = time.time
    time.time = lambda: real() + apart_s  # pyright: ignore[reportAttributeAccessIssue] - that is the point
    utils.utcnow = lambda: datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=apart_s)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    if given["clock_s"]:
        set_clock(given["clock_s"])
    asyncio.run(worked(given))
