"""What handing runs to workers costs, beside the inline runner on the same PostgreSQL, all in one run.

The model is instant, so what is measured is all the rest. PostgreSQL is a server of its own, on the disk and
as careful as it is by default; it shares the processors with the workers. The contenders take turns.

- runs handed out and finished per second, on 1, 2 and 4 workers
- what a turn costs in a long run: time, statements, round trips, bytes on the line and of the log
- the same of a whole run, and what a worker costs that has nothing to do
- from the kill of a worker to the run going on at another
- from a decided review to the next turn

    python benchmarks/bench_scale.py [--quick] [--rounds 3]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, LiteralString, TypeVar

from scale_line import CountingLine, counting_line
from scale_worker import Work, agent, agent_of

from endstop.app import SystemClock
from endstop.kernel.budget import Grant
from endstop.kernel.review import Approved, RunPhase
from endstop.ports import Store
from endstop.runner import Runner
from endstop.runner.scale.dispatcher import Dispatcher
from endstop.runner.scale.engine import Engine
from endstop.runner.scale.worker import BEAT_S, SILENT_S
from endstop.store import open_store

WORKERS = (1, 2, 4)
AT_ONCE = 8
"""Runs that a worker, and the inline runner, drive at once."""
SHORT = Work(turns=5)
SHORT_TURNS, LONG_TURNS = 20, 220
"""Of a run with this many turns and one with that many, the difference is what turns cost."""
KINDS: dict[str, dict[str, Any]] = {
    "": {},
    ", tool with an effect": {"changes_something": True},
    ", model takes 20 ms": {"model_s": 0.02},
}
"""An instant model may be done with some turns before the first is saved: those are saved together then."""
KILLED_AT_ONCE = 8
_OPEN: LiteralString = "SELECT count(*) AS number FROM endstop_runs WHERE phase = 'RUNNING'"
_LOG: LiteralString = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS number"
_POLL_S = 0.002
_SETTLED_S = 1.5
"""After that a worker hears of new runs at once. Before, it looks for them every second."""

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A database, and what hands runs out on it or drives them."""

    url: str
    store: Store
    engine: Engine
    dispatcher: Dispatcher
    inline: Runner

    async def number(self, statement: LiteralString) -> int:
        return int((await self.engine.together((statement, {})))[0]["number"])

    async def hand_out(self, work: Work, *, runs: int) -> list[str]:
        """So many runs, some at a time as from so many clients."""
        return await _each(runs, lambda: self.dispatcher.start(agent(work), work.question))

    async def all_ended(self, *, poll_s: float = _POLL_S) -> None:
        while await self.number(_OPEN):
            await asyncio.sleep(poll_s)

    async def drive(self, work: Work, *, runs: int) -> None:
        await _each(runs, lambda: self.inline.run(agent(work), work.question))


async def _each(times: int, do: Callable[[], Awaitable[Done]]) -> list[Done]:
    """Do something so many times, ``AT_ONCE`` at once."""
    left = times
    done: list[Done] = []

    async def some() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            done.append(await do())

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    return done


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Place]:
    async with Engine(url) as engine:
        store = await open_store(url)
        clock = SystemClock()
        dispatcher = Dispatcher(
            store, engine, clock=clock, agent_of=agent_of, most_waiting_per_user=1_000_000
        )
        inline = Runner(store, clock=clock, agent_of=agent_of)
        try:
            yield Place(url=url, store=store, engine=engine, dispatcher=dispatcher, inline=inline)
        finally:
            await inline.shutdown()
            await store.close()


@asynccontextmanager
async def workers(number: int, url: str) -> AsyncGenerator[list[subprocess.Popen[str]]]:
    """So many that are ready. They are gone at the end."""
    command = [sys.executable, str(Path(__file__).parent / "scale_worker.py"), url, str(AT_ONCE)]
    begun = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(number)]
    try:
        for process in begun:
            assert process.stdout is not None
            assert await asyncio.to_thread(process.stdout.readline) == "ready\n"
        await asyncio.sleep(_SETTLED_S)
        yield begun
    finally:
        for process in begun:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


# ── runs per second ───────────────────────────────────────────────────────────────────────────────────────


async def throughput(place: Place, *, runs: int, rounds: int) -> None:
    print(
        f"runs of {SHORT.turns} turns per second, the best of {rounds} times {runs} runs;"
        f" {AT_ONCE} at once in each process; {os.cpu_count()} processors for all of it, PostgreSQL too\n"
    )
    best: dict[str, float] = {}

    def keep(name: str, seconds: float) -> None:
        best[name] = max(best.get(name, 0.0), runs / seconds)

    for _ in range(rounds):
        began = time.perf_counter()
        await place.drive(SHORT, runs=runs)
        keep("inline runner", time.perf_counter() - began)
        for number in WORKERS:
            async with workers(number, place.url):
                began = time.perf_counter()
                await place.hand_out(SHORT, runs=runs)
                await place.all_ended(poll_s=0.05)  # seldom: it takes from what the workers have
                keep(f"{number} worker{'s' * (number > 1)}", time.perf_counter() - began)
        began = time.perf_counter()
        await place.hand_out(SHORT, runs=runs)
        keep("handed out only", time.perf_counter() - began)
        async with workers(2, place.url):
            await place.all_ended()
    for name, rate in best.items():
        print(f"{name:<18}{rate:>8.1f}{rate / best['inline runner']:>8.2f}x inline")


# ── what a turn costs ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something took."""

    seconds: float
    statements: float
    round_trips: float
    line_bytes: float
    log_bytes: float

    def less(self, other: Cost, *, by: int) -> Cost:
        """What is more than another took, for each of so many."""
        return Cost(**{name: (getattr(self, name) - getattr(other, name)) / by for name in self.__slots__})


async def cost_of(line: CountingLine, place: Place, do: Callable[[], Awaitable[object]]) -> Cost:
    statements, round_trips, size = line.statements, line.round_trips, line.bytes
    log = await place.number(_LOG)
    began = time.perf_counter()
    await do()
    seconds = time.perf_counter() - began
    return Cost(
        seconds=seconds,
        statements=line.statements - statements,
        round_trips=line.round_trips - round_trips,
        line_bytes=line.bytes - size,
        log_bytes=await place.number(_LOG) - log,
    )


async def turn_costs(place: Place, *, rounds: int) -> None:
    print(
        f"\nwhat a turn costs, one run at a time ({LONG_TURNS} turns less one of {SHORT_TURNS});"
        " and what a run costs besides\n"
    )
    print(f"{'':<50}{'µs':>8}{'statements':>12}{'round trips':>13}{'bytes':>9}{'log bytes':>11}")
    found: dict[str, dict[int, Cost]] = {}
    async with counting_line(place.url) as line, opened(line.url) as inside, workers(1, line.url):
        for turns in (1, SHORT_TURNS, LONG_TURNS) * rounds:
            for kind, options in KINDS.items():
                work = Work(turns=turns, **options)

                async def driven(work: Work = work) -> None:
                    await inside.drive(work, runs=1)

                async def handed(work: Work = work) -> None:
                    await place.hand_out(work, runs=1)  # not by the line: what it takes is a server's
                    await place.all_ended()

                for name, do in (("inline runner", driven), ("1 worker", handed)):
                    cost = await cost_of(line, place, do)
                    costs = found.setdefault(name + kind, {})
                    if turns not in costs or cost.seconds < costs[turns].seconds:
                        costs[turns] = cost
        async with counting_line(place.url) as idle, workers(1, idle.url):
            before = idle.statements
            await asyncio.sleep(10)
            per_second = (idle.statements - before) / 10
    for name, costs in found.items():
        _print_cost(
            f"a turn, {name}", costs[LONG_TURNS].less(costs[SHORT_TURNS], by=LONG_TURNS - SHORT_TURNS)
        )
    for name, costs in found.items():
        _print_cost(f"a run of one turn, {name}", costs[1])
    print(f"\na worker with nothing to do: {per_second:.1f} statements per second")


def _print_cost(name: str, cost: Cost) -> None:
    print(
        f"{name:<50}{cost.seconds * 1e6:>8,.0f}{cost.statements:>12.1f}{cost.round_trips:>13.1f}"
        f"{cost.line_bytes:>9,.0f}{cost.log_bytes:>11,.0f}"
    )


# ── going on ──────────────────────────────────────────────────────────────────────────────────────────────


async def kills(place: Place, *, rounds: int) -> None:
    """How long it takes from the kill of a worker until each of its runs has a new fact by another."""
    took: list[float] = []
    for _ in range(rounds):
        async with workers(1, place.url) as first:
            ids = await place.hand_out(Work(turns=400, model_s=0.05), runs=KILLED_AT_ONCE)
            await _until_all_grow(place, dict.fromkeys(ids, 20))
            async with workers(1, place.url):
                first[0].kill()
                first[0].wait()
                killed = time.perf_counter()
                owners = {run_id: (await place.store.run(run_id)).owner for run_id in ids}
                waiting = set(ids)
                while waiting:
                    for run_id in list(waiting):
                        if (await place.store.run(run_id)).owner != owners[run_id]:
                            took.append(time.perf_counter() - killed)
                            waiting.discard(run_id)
                    await asyncio.sleep(_POLL_S)
                for run_id in ids:
                    await place.dispatcher.cancel(run_id, by="the benchmark")
                await place.all_ended()
    print(
        f"\nfrom the kill of a worker to its run going on at another: median {median(took):.1f} s,"
        f" at most {max(took):.1f} s ({len(took)} runs; a worker beats every {BEAT_S:.0f} s, and is taken for"
        f" dead after {SILENT_S:.0f})"
    )


async def _until_all_grow(place: Place, wanted: dict[str, int]) -> None:
    for run_id, facts in wanted.items():
        while (await place.store.run(run_id)).facts < facts:
            await asyncio.sleep(0.02)


async def reviews(place: Place, *, times: int) -> None:
    """How long it takes from a decision until the next turn is on record."""
    work = Work(turns=10, most_turns=4)
    decision = Approved(grant=Grant(turns=10, by="the benchmark", why="to go on"))
    took: dict[str, list[float]] = {"inline runner": [], "1 worker": []}
    async with workers(1, place.url):
        for _ in range(times):
            for name, runner in (("inline runner", place.inline), ("1 worker", place.dispatcher)):
                run_id = await runner.start(agent(work), work.question)
                await runner.wait(run_id)
                stored = await place.store.run(run_id)
                assert stored.phase is RunPhase.BUDGET_REVIEW, stored
                began = time.perf_counter()
                await runner.decide(run_id, decision)
                await runner.resume_in_background(run_id)
                while (await place.store.run(run_id)).turns <= stored.turns:
                    await asyncio.sleep(_POLL_S)
                took[name].append(time.perf_counter() - began)
                await place.all_ended()
    print("\nfrom a decided review to the end of the next turn, in ms\n")
    for name, each in took.items():
        print(
            f"{name:<18} median {median(each) * 1e3:6.1f}, at most {max(each) * 1e3:6.1f} ({len(each)} times)"
        )


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs: a minute, not five")
    parser.add_argument("--rounds", type=int, default=3, help="measurements to take the best of")
    given = parser.parse_args()
    rounds = 1 if given.quick else given.rounds
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    with import_module("postgres").running_server({"max_connections": "200"}) as server:
        server.run("CREATE DATABASE bench TEMPLATE template0")
        async with opened(server.url("bench")) as place:
            await place.drive(SHORT, runs=50)  # what comes with the first runs is not counted
            await throughput(place, runs=60 if given.quick else 400, rounds=rounds)
            await turn_costs(place, rounds=rounds)
            await kills(place, rounds=rounds)
            await reviews(place, times=10 if given.quick else 40)


if __name__ == "__main__":
    asyncio.run(main())
