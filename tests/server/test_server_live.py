"""One live run: which facts are shown, and when; what happens when the store or a listener lags behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server, heard, until

from endstop.errors import StoreError
from endstop.events.facts import Fact, RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.kernel.observation import ContextMeasured
from endstop.loop.journal import Delta
from endstop.ports import StoredRun
from endstop.server.live import LiveRun
from endstop.server.stream import looks_back_to
from endstop.testing import MemoryStore, ScriptedModel, calls, calls_many, echo_tool


def record(count: int) -> list[Fact]:
    payloads = [
        RunStarted(config=AgentConfig()),
        *(ContextMeasured(at_s=1.0, tokens=n) for n in range(count - 1)),
    ]
    return [
        Fact(run_id="run", seq=seq, time=0.0, source="test", payload=payload)
        for seq, payload in enumerate(payloads)
    ]


@asynccontextmanager
async def living(store: MemoryStore, **options: Any) -> AsyncGenerator[tuple[LiveRun, list[int]]]:
    """A live run that keeps up, and the numbers of the facts it found safe."""
    safe: list[int] = []
    live = LiveRun("run", store, on_safe=lambda fact: safe.append(fact.seq), **options)
    keeping = asyncio.create_task(live.keep_up())
    yield live, safe
    live.leave()
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping


@pytest.mark.guarantee("I1")
async def test_a_fact_is_shown_only_once_it_is_safe() -> None:
    store = MemoryStore()
    facts = record(3)
    async with living(store) as (live, safe):
        for fact in facts:
            live.bus.publish(fact)
        await asyncio.sleep(0.03)
        assert safe == []
        assert live.after(-1) is None
        await store.append(facts[:2])
        await until(lambda: safe == [0, 1])
        assert live.after(-1) == facts[:2]
        assert live.after(0) == facts[1:2]
        assert live.after(1) == []
        await store.append(facts[2:])
        await until(lambda: safe == [0, 1, 2])


async def test_whoever_fell_behind_is_sent_to_the_record() -> None:
    store = MemoryStore()
    facts = record(600)
    async with living(store) as (live, safe):
        await store.append(facts)
        for fact in facts:
            live.bus.publish(fact)
        await until(lambda: len(safe) == 600)
        assert live.after(10) is None
        assert live.after(590) == facts[591:]


async def test_a_gap_on_the_bus_is_filled_from_the_record() -> None:
    store = MemoryStore()
    facts = record(10)
    await store.append(facts)
    async with living(store, capacity=2) as (live, safe):
        for fact in facts[:2]:
            live.bus.publish(fact)
        await until(lambda: safe == [0, 1])
        for fact in facts[2:]:
            live.bus.publish(fact)
        await until(lambda: safe == [0, 1, 8, 9])
        assert live.after(1) is None
        assert live.after(7) == facts[8:]


async def test_the_words_of_a_sub_agent_come_whole_and_not_live() -> None:
    async with living(MemoryStore()) as (live, _):
        live.listen(Delta(run_id="run", scope="run/child", turn=0, text="a child's"))
        assert live.reply_now() is None
        live.listen(Delta(run_id="run", scope="run", turn=0, text="my own"))
        reply = live.reply_now()
        assert reply is not None
        assert reply.pieces == [(False, "my own")]


class FailingStore(MemoryStore):
    """Cannot be read while it fails."""

    fails = True

    async def run(self, run_id: str) -> StoredRun:
        if self.fails:
            raise StoreError("locked")
        return await super().run(run_id)


async def test_a_store_that_fails_for_a_while_is_asked_again() -> None:
    store = FailingStore()
    await store.append(record(1))
    async with living(store) as (live, safe):
        live.bus.publish(record(1)[0])
        await asyncio.sleep(0.02)
        assert safe == []
        store.fails = False
        await until(lambda: safe == [0])


async def test_a_run_that_was_left_is_let_go_when_all_is_safe_and_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("endstop.server.live._LAST_LOOKS_S", 0.01)
    live = LiveRun("run", MemoryStore(), on_safe=lambda fact: None)
    live.bus.publish(record(1)[0])
    live.leave()
    await asyncio.wait_for(live.keep_up(), 2)


@pytest.mark.guarantee("I1")
async def test_a_turn_with_very_many_facts_can_be_cut_anywhere_too(tmp_path: Path) -> None:
    many = calls_many(*(calls("echo", text=str(number)) for number in range(50)), text="All at once.")
    async with chat_server(tmp_path, lambda: ScriptedModel(many, "Done."), tools=[echo_tool()]) as server:
        asked = await server.asked(limits={"max_tool_calls_per_turn": 50})
        facts = await server.store.record(asked.run_id)
        places = [fact.seq for fact in facts if looks_back_to(fact)]
        assert max(later - earlier for earlier, later in pairwise(places)) > 64
        whole = heard(asked.events)
        for cut, event in enumerate(asked.events[:-1]):
            rest = await server.followed(asked.run_id, event.id)
            assert heard([*asked.events[: cut + 1], *rest]) == whole
