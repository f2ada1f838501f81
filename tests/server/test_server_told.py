"""A live run that is told what is safe: it shows that at once, and asks the store nothing meanwhile."""

from __future__ import annotations

import asyncio

import pytest
from chat_server import until

from endstop.events.facts import Fact, RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.kernel.observation import ContextMeasured
from endstop.ports import StoredRun
from endstop.server.live import LiveRun
from endstop.testing import MemoryStore


class Counted(MemoryStore):
    """Counts how often it is asked for a run."""

    asked = 0

    async def run(self, run_id: str) -> StoredRun:
        self.asked += 1
        return await super().run(run_id)


def record(count: int) -> list[Fact]:
    payloads = [
        RunStarted(config=AgentConfig()),
        *(ContextMeasured(at_s=1.0, tokens=n) for n in range(count)),
    ]
    return [
        Fact(run_id="run", seq=seq, time=0.0, source="test", payload=payload)
        for seq, payload in enumerate(payloads[:count])
    ]


@pytest.mark.guarantee("I1")
async def test_facts_are_shown_when_they_are_told_to_be_safe_and_not_before() -> None:
    store, safe, facts = Counted(), list[int](), record(5)
    live = LiveRun("run", store, on_safe=lambda fact: safe.append(fact.seq), is_told=True)
    keeping = asyncio.create_task(live.keep_up())
    watcher = asyncio.Event()
    live.watch(watcher)
    for fact in facts:
        live.bus.publish(fact)
    await asyncio.sleep(0.01)
    assert (safe, live.after(-1)) == ([], None)
    live.saved(2)
    assert safe == [0, 1, 2]
    assert live.after(0) == facts[1:3]
    assert watcher.is_set()
    live.saved(4)
    assert safe == [0, 1, 2, 3, 4]
    live.leave()
    await asyncio.wait_for(keeping, 2)
    assert store.asked == 0


async def test_what_is_saved_after_the_run_was_left_is_looked_up() -> None:
    store, safe, facts = Counted(), list[int](), record(3)
    live = LiveRun("run", store, on_safe=lambda fact: safe.append(fact.seq), is_told=True)
    keeping = asyncio.create_task(live.keep_up())
    for fact in facts:
        live.bus.publish(fact)
    live.leave()
    await store.append(facts)
    await until(lambda: safe == [0, 1, 2])
    await asyncio.wait_for(keeping, 2)
    assert store.asked >= 1
