"""The part that every contender shares: the script its model follows, and how it is asked to run.

A contender is a process of its own that reads one JSON request per line and writes one JSON answer per line.
Only the standard library is used here: this file is imported in the environment of every peer.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import runpy
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Protocol

MOST_REPEATS = 1_000
"""Model calls after which a model that repeats itself is stopped by the benchmark."""

REPEATED_NUMBER = 7
QUESTION = "Look up every number."
ANSWER = "Done: that was the last number."

_MOST_TIMES = 20
_LEAST_SECONDS = 0.25


class TooManyCallsError(Exception):
    """Nothing has stopped the model: the benchmark does."""


class Script:
    """What the instant model does: it calls ``look`` with a new number each turn, then it is done.

    One script serves any number of runs at once, so the turn comes from the history that the model is shown.
    """

    __slots__ = ("delay_s", "held", "holds", "model_calls", "release", "repeats", "tool_calls", "turns")

    def __init__(
        self, *, turns: int, delay_s: float = 0.0, holds: bool = False, repeats: bool = False
    ) -> None:
        self.turns = turns
        self.delay_s = delay_s
        self.holds = holds
        self.repeats = repeats
        """It calls ``look`` with the same number for ever."""
        self.held = 0
        """How many runs wait in their last model call for ``release``."""
        self.release = asyncio.Event()
        """Set when held runs may go on, and when a model has repeated itself often enough."""
        self.model_calls = 0
        self.tool_calls = 0

    async def next(self, turn: int) -> int | None:
        """The number to look up in this turn; None when the model is done."""
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if self.holds and turn >= self.turns:
            await self.hold()
        if self.repeats and self.model_calls >= MOST_REPEATS:
            self.release.set()
            await asyncio.Event().wait()  # for ever: what is raised here, a peer might take for a failed call
        return self.next_now(turn)

    async def hold(self) -> None:
        self.held += 1
        await self.release.wait()

    def next_now(self, turn: int) -> int | None:
        self.model_calls += 1
        if self.repeats:
            if self.model_calls >= MOST_REPEATS:
                raise TooManyCallsError
            return REPEATED_NUMBER
        return turn if turn < self.turns else None

    def look(self, number: int) -> str:
        """The one tool."""
        self.tool_calls += 1
        return f"result {number}"


class Contender(Protocol):
    """Something that runs an agent on a script."""

    async def open(self) -> None: ...

    async def run(self, script: Script) -> str:
        """Run an agent to its end, and say how it ended. Under a script that repeats: with its defaults."""
        ...

    async def close(self) -> None: ...


async def _turns(contender: Contender, *, turns: int) -> dict[str, object]:
    """Seconds that a run of so many turns takes at its best, by the clock and of the processor."""
    best, best_cpu, times, began = float("inf"), float("inf"), 0, time.perf_counter()
    while times < _MOST_TIMES and (times == 0 or time.perf_counter() - began < _LEAST_SECONDS):
        script = Script(turns=turns)
        gc.collect()
        started, started_cpu = time.perf_counter(), time.process_time()
        await contender.run(script)
        best = min(best, time.perf_counter() - started)
        best_cpu = min(best_cpu, time.process_time() - started_cpu)
        _require_done(script, runs=1)
        times += 1
    return {"seconds": best, "cpu_seconds": best_cpu, "times": times}


async def _at_once(contender: Contender, *, runs: int, turns: int, delay_s: float) -> dict[str, object]:
    script = Script(turns=turns, delay_s=delay_s)
    with collector_of_a_program():
        started, started_cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(contender.run(script) for _ in range(runs)))
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - started_cpu
    _require_done(script, runs=runs)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "times": 1}


@contextlib.contextmanager
def collector_of_a_program() -> Generator[None, None, None]:
    """The garbage collector as our programs set it when they hold many runs, for every contender alike."""
    path = Path(__file__).parents[2] / "src" / "endstop" / "app" / "collector.py"
    thresholds = gc.get_threshold()
    runpy.run_path(str(path))["set_collector"]()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


async def _memory(contender: Contender, *, runs: int, turns: int) -> dict[str, object]:
    """Bytes that each of many runs takes while it waits for the model, after so many turns.

    Those of the second half are counted: the first half fills what the process had left over.
    """
    script = Script(turns=turns, holds=True)
    tasks: list[asyncio.Future[str]] = []
    resident = [0, 0]
    for half in (0, 1):
        tasks += [asyncio.ensure_future(contender.run(script)) for _ in range(runs // 2)]
        await _all_held(script, tasks)
        gc.collect()
        resident[half] = _resident_bytes()
    script.release.set()
    await asyncio.gather(*tasks)
    return {"bytes": (resident[1] - resident[0]) / (runs // 2)}


async def _all_held(script: Script, tasks: list[asyncio.Future[str]]) -> None:
    while script.held < len(tasks):
        for task in tasks:
            if task.done():
                raise RuntimeError(f"A run that was to be held ended: {await task}")
        await asyncio.sleep(0.01)


async def _repeat(contender: Contender) -> dict[str, object]:
    """How many model calls it takes until a model that repeats one call is stopped."""
    script = Script(turns=0, repeats=True)
    run = asyncio.ensure_future(contender.run(script))
    enough = asyncio.ensure_future(script.release.wait())
    await asyncio.wait((run, enough), return_when=asyncio.FIRST_COMPLETED)
    if not run.done():
        run.cancel()
        await asyncio.wait((run,), timeout=5)
    enough.cancel()
    if script.model_calls >= MOST_REPEATS:
        return {"calls": script.model_calls, "how": ""}
    try:
        how = await run
    except Exception as error:  # noqa: BLE001 - an exception is how most of them end
        how = f"an exception, {type(error).__name__}"
    return {"calls": script.model_calls, "how": how}


_MEASURES: dict[str, Callable[..., Any]] = {
    "turns": _turns,
    "at_once": _at_once,
    "memory": _memory,
    "repeat": _repeat,
}


def serve(contender: Contender) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the peer prints is no answer
    with asyncio.Runner() as runner:
        runner.run(contender.open())
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = runner.run(_MEASURES[request.pop("measure")](contender, **request))
            except Exception as error:  # noqa: BLE001 - it is told, and shown in the table
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)
        runner.run(contender.close())


def _require_done(script: Script, *, runs: int) -> None:
    """A contender that did less work than it was asked to is not compared."""
    wanted = runs * (script.turns + 1), runs * script.turns
    if (script.model_calls, script.tool_calls) != wanted:
        raise RuntimeError(
            f"{script.model_calls} model calls and {script.tool_calls} tool calls"
            f" instead of {wanted[0]} and {wanted[1]}"
        )


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
