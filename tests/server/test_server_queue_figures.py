"""The figures of the queue on ``/metrics``: only where runs are handed out, cheap, and honest without it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from small_server import PORT, client_of, small_server

from endstop.app import App, Config, SystemClock, make_agent
from endstop.app.agents import agent_of
from endstop.errors import StoreError
from endstop.runner.scale.dispatcher import Dispatcher
from endstop.runner.scale.engine import Engine, QueueState
from endstop.server import queueing
from endstop.server.access import Access
from endstop.server.metrics import told
from endstop.server.queueing import QueueFigures, ReadQueue
from endstop.server.server import make_server
from endstop.store import open_store


@pytest.fixture
async def dispatcher(postgres_url: str) -> AsyncGenerator[Dispatcher]:
    store = await open_store(postgres_url)
    async with Engine(postgres_url) as engine:
        yield Dispatcher(store, engine, clock=SystemClock(), agent_of=agent_of)
    await store.close()


async def figures(dispatcher: Dispatcher, url: str, home: Path) -> dict[str, float]:
    """What a server in front of workers tells of the queue, over HTTP."""
    store = await open_store(url)
    app = App(config=Config(home=home, database_url=url), store=store, runner=dispatcher)
    server = make_server(app, Access.on_loopback(store, user="ada", port=PORT), recovers=False)
    async with server.router.lifespan_context(server), client_of(server, None) as client:
        text = (await client.get("/metrics")).text
    await store.close()
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines if "{" not in name}


async def test_a_server_that_hands_out_tells_how_the_queue_stands(
    dispatcher: Dispatcher, postgres_url: str, tmp_path: Path
) -> None:
    for _ in range(3):
        await dispatcher.start(make_agent(model="extractive"), "Where is it?", user="ada")
    await dispatcher.engine.app.job_manager.register_worker()
    await dispatcher.engine.count("leases_lost", 2)
    await dispatcher.engine.count("runs_recovered", 7)
    found = await figures(dispatcher, postgres_url, tmp_path)
    assert found["endstop_queue_reachable"] == 1
    assert found["endstop_queue_waiting_runs"] == 3
    assert found["endstop_queue_under_way_runs"] == 0
    assert 0 < found["endstop_queue_oldest_wait_seconds"] < 60
    assert found["endstop_workers_alive"] == 1
    assert found["endstop_leases_lost_total"] == 2
    assert found["endstop_runs_recovered_total"] == 7


async def test_an_empty_queue_has_figures_too(
    dispatcher: Dispatcher, postgres_url: str, tmp_path: Path
) -> None:
    found = await figures(dispatcher, postgres_url, tmp_path)
    queue = {name: value for name, value in found.items() if "queue" in name or "workers" in name}
    assert queue == {
        "endstop_queue_reachable": 1,
        "endstop_queue_waiting_runs": 0,
        "endstop_queue_under_way_runs": 0,
        "endstop_queue_oldest_wait_seconds": 0,
        "endstop_workers_alive": 0,
    }
    assert found["endstop_leases_lost_total"] == found["endstop_runs_recovered_total"] == 0


async def test_a_server_that_drives_runs_itself_has_no_queue_to_tell_of(tmp_path: Path) -> None:
    async with small_server(tmp_path) as server:
        text = (await server.nobody.get("/metrics")).text
    assert "queue" not in text
    assert "workers" not in text


QUIET = QueueState(waiting=0, under_way=0, oldest_wait_s=None, workers=1)


async def test_however_many_ask_the_database_is_asked_now_and_then() -> None:
    asked, now = 0, 0.0

    async def read() -> tuple[QueueState, dict[str, int]]:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        return replace(QUIET, waiting=asked), {}

    kept = QueueFigures(read, now_s=lambda: now)
    texts = await asyncio.gather(*(kept.metrics() for _ in range(50)))
    assert (asked, len({told(one) for one in texts})) == (1, 1)
    now = queueing.KEPT_S - 0.1
    await kept.metrics()
    assert asked == 1
    now = queueing.KEPT_S
    assert "endstop_queue_waiting_runs 2\n" in told(await kept.metrics())


async def gone() -> tuple[QueueState, dict[str, int]]:
    raise StoreError("The database is gone")


async def silent() -> tuple[QueueState, dict[str, int]]:
    await asyncio.Event().wait()
    return QUIET, {}


@pytest.mark.parametrize("read", [gone, silent])
async def test_a_queue_that_does_not_answer_is_told_as_such(
    read: ReadQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queueing, "_WITHIN_S", 0.05)
    text = told(await QueueFigures(read).metrics())
    assert "endstop_queue_reachable 0\n" in text
    assert "waiting" not in text


async def test_counts_of_all_workers_are_told_as_counters() -> None:
    async def read() -> tuple[QueueState, dict[str, int]]:
        return QUIET, {}

    text = told(await QueueFigures(read).metrics())
    assert "# TYPE endstop_leases_lost_total counter\n" in text
    assert "# TYPE endstop_workers_alive gauge\n" in text
