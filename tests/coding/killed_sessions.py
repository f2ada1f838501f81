"""Plays an example in process after process, each killed at a moment of its own; the last one is let alone.

It imports everything once and forks, so that a life costs little. Prints how each process ended, as JSON.

Usage: python killed_sessions.py DATABASE_URL REPOSITORY EXAMPLE MOMENTS

MOMENTS is a list in JSON, such as [["tool.called", {"scope": "builder 1"}, 0.01]]: so many seconds after a
fact of that type with these values is written, and before it is saved if that is none.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from session_words import played

from endstop.coding.examples import EXAMPLES
from endstop.events.bus import Bus
from endstop.events.facts import Fact
from endstop.store import open_store

Moment: TypeAlias = tuple[str, dict[str, Any], float]


def main() -> None:
    url, repository, name, moments = sys.argv[1], Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
    statuses = [in_a_process(url, repository, name, moment) for moment in (*moments, None)]
    sys.stdout.write(json.dumps([os.waitstatus_to_exitcode(status) for status in statuses]))


def in_a_process(url: str, repository: Path, name: str, moment: Moment | None) -> int:
    process = os.fork()
    if process == 0:
        _child(url, repository, name, moment)
    return os.waitpid(process, 0)[1]


def _child(url: str, repository: Path, name: str, moment: Moment | None) -> NoReturn:
    code = 1
    try:
        asyncio.run(lived(url, repository, name, moment))
        code = 0
    except Exception:  # noqa: BLE001 - it must not come back into the parent's code
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


async def lived(url: str, repository: Path, name: str, moment: Moment | None) -> None:
    store = await open_store(url)
    bus = Bus()
    if moment is not None:
        die_at(moment, bus)
    await played(EXAMPLES[name], repository, store, bus=bus)
    await store.close()


def die_at(moment: Moment, bus: Bus) -> None:
    kind, values, after_s = moment

    def wake() -> None:
        if any(_is_meant(fact, values) for fact in heard.take()):
            if not after_s:
                _die()
            threading.Timer(after_s, _die).start()

    heard = bus.subscribe(kind, wake=wake)


def _is_meant(fact: Fact, values: dict[str, Any]) -> bool:
    return all(getattr(fact.payload, name, None) == value for name, value in values.items())


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
