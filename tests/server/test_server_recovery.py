"""Going on with runs that were left open: beside everything else, a few at a time, again and again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from chat_server import chat_server, until

from endstop.app import SystemClock
from endstop.errors import StoreError
from endstop.events.facts import Fact
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.review import RunPhase
from endstop.loop.agent import Agent
from endstop.ports import StoredRun
from endstop.runner.opening import new_recorder
from endstop.testing import MemoryStore, ScriptedModel


class Watched(MemoryStore):
    """Tells how often records are read, and how many at once; can be made to wait, or to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []
        self.most_at_once = self._at_once = 0
        self.opened = asyncio.Event()
        self.opened.set()
        self.failures = 0

    async def record(self, run_id: str, *, after: int = -1, most: int | None = None) -> list[Fact]:
        self.reads.append(run_id)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await self.opened.wait()
            return await super().record(run_id, after=after, most=most)
        finally:
            self._at_once -= 1

    async def runs(self, **wanted: object) -> list[StoredRun]:  # type: ignore[override]
        if self.failures:
            self.failures -= 1
            raise StoreError("locked")
        return await super().runs(**wanted)  # type: ignore[arg-type]

    async def leave_open(self, run_id: str) -> None:
        """A run that somebody began, and who is gone."""
        agent = Agent(
            name="scripted", model=ScriptedModel("Done."), config=AgentConfig(budget=Budget(turns=3))
        )
        recorder = new_recorder(agent, "Why?", time=SystemClock().unix_s(), user="ana", run_id=run_id)
        await self.append(recorder.facts)

    async def phases(self) -> set[RunPhase]:
        return {run.phase for run in await super().runs(most=1_000)}


@pytest.mark.guarantee("D10")
async def test_others_are_let_in_while_runs_are_gone_on_with(tmp_path: Path) -> None:
    store = Watched()
    await store.leave_open("run_left")
    store.opened.clear()
    async with chat_server(tmp_path, store=store) as server:
        assert (await server.me.get("/api/settings/agent-config")).status_code == 200
        await until(lambda: store.reads == ["run_left"])
        assert await store.phases() == {RunPhase.RUNNING}
        store.opened.set()
        rest = await server.followed("run_left")
        assert rest[-1].data["outcome"] == "completed"


async def test_only_so_many_records_are_read_at_once(tmp_path: Path) -> None:
    store = Watched()
    for number in range(30):
        await store.leave_open(f"run_{number}")
    store.opened.clear()
    async with chat_server(tmp_path, store=store) as server:
        await until(lambda: len(store.reads) >= 8)
        await asyncio.sleep(0.02)
        assert len(store.reads) == store.most_at_once == 8
        store.opened.set()
        for number in range(30):
            assert (await server.followed(f"run_{number}"))[-1].data["outcome"] == "completed"


async def test_a_run_that_is_left_open_later_is_found_by_a_later_look(tmp_path: Path) -> None:
    store = Watched()
    async with chat_server(tmp_path, store=store, recovers=False) as server:
        server.hub.recover_s = 0.01
        server.hub.keep_recovering()
        await asyncio.sleep(0.03)
        await store.leave_open("run_later")
        await until(lambda: "run_later" in store.reads)
        assert (await server.followed("run_later"))[-1].data["outcome"] == "completed"


async def test_a_store_that_fails_is_looked_at_again(tmp_path: Path) -> None:
    store = Watched()
    await store.leave_open("run_left")
    store.failures = 3
    async with chat_server(tmp_path, store=store, recovers=False) as server:
        server.hub.recover_s = 0.01
        server.hub.keep_recovering()
        await until(lambda: "run_left" in store.reads)
        assert (await server.followed("run_left"))[-1].data["outcome"] == "completed"


async def test_what_cannot_be_gone_on_with_here_is_tried_once(tmp_path: Path) -> None:
    store = Watched()
    await store.leave_open("run_foreign")
    async with chat_server(tmp_path, store=store, can_remake=False, recovers=False) as server:
        assert [await server.hub.recover() for _ in range(3)] == [[], [], []]
        assert store.reads == ["run_foreign"]
        assert (await server.me.post("/api/runs/run_foreign/cancel")).json()["is_done"] is True


async def test_one_that_another_has_taken_meanwhile_is_left_to_it(tmp_path: Path) -> None:
    store = Watched()
    await store.leave_open("run_left")
    store.opened.clear()
    async with (
        chat_server(tmp_path, store=store) as one,
        chat_server(tmp_path, store=store) as other,
    ):
        await until(lambda: store.reads == ["run_left"] * 2)
        store.opened.set()
        for server in (one, other):
            assert (await server.followed("run_left"))[-1].data["outcome"] == "completed"
    taken = [fact for fact in await store.record("run_left") if fact.type == "run.taken"]
    assert len(taken) == 1
