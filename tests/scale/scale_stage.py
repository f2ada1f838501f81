"""What tests of workers are played on: real processes, a line to the database that can be cut, what to check.

Workers here beat every ``BEAT_S`` and are taken for dead after ``SILENT_S``; a look for the dead comes at
least every one and a half beats. So a run of a dead worker goes on within ``RECOVERED_S``.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import pytest
from scale_cast import Play, agent, maker

from endstop.app import SystemClock
from endstop.events.audit import audit
from endstop.events.facts import Fact, RunTaken
from endstop.kernel.observation import AssistantSaid, CallStatus, RunEnded, ToolCalled, ToolFinished
from endstop.kernel.review import RunPhase
from endstop.ports import WholeStore
from endstop.runner.scale.dispatcher import Dispatcher
from endstop.runner.scale.engine import Engine
from endstop.store import open_store

BEAT_S = 0.4
SILENT_S = 2.0
RECOVERED_S = SILENT_S + 3 * BEAT_S + 3.0
"""Silence, two looks, a beat; and what a busy machine takes to get round to it."""

at_length = pytest.mark.thorough
"""For what takes long, and is much like something that does not: ``make test-scale``."""

_OPEN: LiteralString = "SELECT run_id FROM endstop_runs WHERE run_id = ANY(%(ids)s) AND phase <> 'ENDED'"

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerWanted:
    """How a worker is to be."""

    url: str
    folder: str
    concurrency: int = 20
    queues: list[str] | None = None
    per_user: int | None = None
    per_model: int | None = None
    beat_s: float = BEAT_S
    silent_s: float = SILENT_S
    drain_s: float = 10.0
    clock_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class WorkerProcess:
    """A worker in a process of its own."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def id(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    async def drained(self, *, seconds: float = 15.0) -> int:
        """Tell it to end; its exit code."""
        self.process.terminate()
        return await asyncio.to_thread(self.process.wait, seconds)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None


@dataclass(slots=True, kw_only=True)
class Stage:
    """A database, whoever works on it, and the runs that were handed out."""

    url: str
    folder: Path
    store: WholeStore
    engine: Engine
    dispatcher: Dispatcher
    workers: list[WorkerProcess] = field(default_factory=list[WorkerProcess])

    async def worker(self, *, url: str | None = None, **wanted: Any) -> WorkerProcess:
        return (await self.some_workers(1, url=url, **wanted))[0]

    async def some_workers(
        self, number: int, *, url: str | None = None, **wanted: Any
    ) -> list[WorkerProcess]:
        """Workers that are ready."""
        begun = [
            self._begun(WorkerWanted(url=url or self.url, folder=str(self.folder), **wanted))
            for _ in range(number)
        ]
        for worker in begun:
            assert worker.process.stdout is not None
            line = await asyncio.to_thread(worker.process.stdout.readline)
            assert line == "ready\n", worker.log.read_text()
        return begun

    async def worker_and_spare(self, **wanted: Any) -> tuple[WorkerProcess, WorkerProcess]:
        """A worker, and one that is stopped before there is anything to do, to be woken when it is needed."""
        spare, first = await self.some_workers(2, **wanted)
        spare.stop()
        return first, spare

    def _begun(self, wanted: WorkerWanted) -> WorkerProcess:
        log = self.folder / f"worker-{len(self.workers)}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, str(_HERE / "scale_worker.py"), json.dumps(asdict(wanted))],
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
            )
        worker = WorkerProcess(process=process, log=log)
        self.workers.append(worker)
        return worker

    async def start(self, play: Play, *, user: str = "ada") -> str:
        return await self.dispatcher.start(agent(play), play.question, user=user)

    async def start_many(self, number: int, play: Play, **options: Any) -> list[str]:
        return [await self.start(play, **options) for _ in range(number)]

    # ── looking ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def effects(self) -> list[list[str]]:
        """What was done so far: begun or ended, run, number, process, and when."""
        file = self.folder / "effects.log"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def began(self, run_id: str | None = None, *, by: int | None = None) -> list[list[str]]:
        return [
            line
            for line in self.effects
            if line[0] == "start" and run_id in (None, line[1]) and by in (None, int(line[3]))
        ]

    async def phase(self, run_id: str) -> RunPhase:
        return (await self.store.run(run_id)).phase

    async def ended(self, ids: Iterable[str], *, seconds: float = 30.0) -> None:
        """Wait until all of these have ended."""
        wanted = {"ids": list(ids)}
        until_s = time.monotonic() + seconds
        while left := await self.engine.together((_OPEN, wanted)):
            assert time.monotonic() < until_s, f"not ended: {left[:5]} of {len(left)}\n{self.logs()}"
            await asyncio.sleep(0.1)

    def logs(self) -> str:
        return "\n".join(
            f"--- {worker.log.name}\n{worker.log.read_text()[-1_500:]}" for worker in self.workers
        )

    async def require_sound(self, ids: Iterable[str]) -> list[tuple[Fact, ...]]:
        """Every run has ended once, its audit holds, and no effect was repeated or went unreported."""
        log = self.effects
        began = Counter((line[1], int(line[2])) for line in log if line[0] == "start")
        done = Counter((line[1], int(line[2])) for line in log if line[0] == "end")
        repeated = [each for each, times in began.items() if times > 1]
        assert not repeated, f"effects were repeated: {repeated[:5]}"
        records: list[tuple[Fact, ...]] = []
        for run_id in ids:
            facts = tuple(await self.store.record(run_id))
            records.append(facts)
            payloads = [fact.payload for fact in facts]
            assert [fact.seq for fact in facts] == list(range(len(facts)))
            assert sum(isinstance(payload, RunEnded) for payload in payloads) == 1
            checked = audit(facts)
            assert checked.holds, str(checked)
            finished = {each.call: each for each in payloads if isinstance(each, ToolFinished)}
            called = [each for each in payloads if isinstance(each, ToolCalled) and each.tool == "act"]
            numbers = {json.loads(each.arguments)["number"] for each in called}
            assert len(numbers) == len(called)
            strange = {number for run, number in began if run == run_id} - numbers
            assert not strange, f"effects that stand in no record: {strange}"
            for each in called:
                number = json.loads(each.arguments)["number"]
                status = finished[each.call].status
                if status is CallStatus.EXECUTED:
                    assert done[run_id, number] == 1
                elif began[run_id, number]:
                    assert status in (CallStatus.INTERRUPTED, CallStatus.CANCELLED), "not reported"
        return records

    async def handed(self) -> list[str]:
        """The runs that are still known as handed out."""
        return [row["run_id"] for row in await self.sql("SELECT run_id FROM endstop_handed")]

    async def sql(self, statement: LiteralString) -> list[dict[str, Any]]:
        """What nothing else tells, or does."""
        return await self.engine.together((statement, {}))

    async def jobs(self) -> int:
        state = await self.engine.state(silent_s=SILENT_S)
        return state.waiting + state.under_way


@asynccontextmanager
async def stage(url: str, folder: Path, **options: Any) -> AsyncGenerator[Stage]:
    """A stage on a database. All its workers are gone at the end."""
    async with Engine(url) as engine:
        store = await open_store(url)
        options = {"most_waiting_per_user": 10_000, **options}
        dispatcher = Dispatcher(store, engine, clock=SystemClock(), agent_of=maker(None), **options)
        on = Stage(url=url, folder=folder, store=store, engine=engine, dispatcher=dispatcher)
        try:
            yield on
        finally:
            for worker in on.workers:
                if worker.is_alive:
                    worker.wake()
                    worker.kill()
                assert worker.process.stdout is not None
                worker.process.stdout.close()
            await store.close()


async def until(
    condition: Callable[[], bool] | Callable[[], Awaitable[bool]], what: str, *, seconds: float = 15.0
) -> float:
    """Wait until something holds; how long that took."""
    began_s = time.monotonic()
    while True:
        found = condition()
        if found if isinstance(found, bool) else await found:
            return time.monotonic() - began_s
        assert time.monotonic() - began_s < seconds, f"waited {seconds} s in vain: {what}"
        await asyncio.sleep(0.02)


async def is_empty(on: Stage) -> bool:
    """Nothing is left in the queue, and no run is known as handed out."""
    return await on.jobs() == 0 and await on.handed() == []


async def cleared(on: Stage) -> None:
    """Wait until no job is left, and then no run known as handed out: what was ended while nobody could be
    told so is looked for only some time later, which is now."""
    await until(lambda: has_no_job(on), "no job is left")
    await on.sql("UPDATE endstop_handed SET handed_at = now() - interval '1 hour'")
    await until(lambda: is_empty(on), "nothing is left in the queue")


async def has_no_job(on: Stage) -> bool:
    return await on.jobs() == 0


def said(facts: Iterable[Fact]) -> str:
    """Everything that was said, by the record."""
    return "".join(
        fact.payload.text
        for fact in facts
        if isinstance(fact.payload, AssistantSaid) and fact.payload.scope == "run"
    )


def times_taken(facts: Iterable[Fact]) -> int:
    return sum(isinstance(fact.payload, RunTaken) for fact in facts)
