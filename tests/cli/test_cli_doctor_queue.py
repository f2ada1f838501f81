"""``endstop doctor`` where runs are handed to workers: the queue, who works, who waits, what to do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from cli_program import Endstop

from endstop.app import SystemClock, make_agent
from endstop.app.agents import agent_of
from endstop.cli.checkup_queue import queue_checks
from endstop.runner.scale.dispatcher import Dispatcher
from endstop.runner.scale.engine import Engine
from endstop.store import open_store
from endstop.store.address import parse_address


def told(endstop: Endstop, url: str) -> dict[str, dict[str, str]]:
    """The checks by their names."""
    done = endstop("doctor", "--json", ENDSTOP_DATABASE_URL=url)
    return {one["name"]: one for one in done.json["checks"]}


def on(url: str, work: Callable[[Engine], Awaitable[Any]]) -> Any:
    async def done() -> Any:
        async with Engine(url) as engine:
            return await work(engine)

    return asyncio.run(done())


def handed_out(url: str) -> str:
    async def started(engine: Engine) -> str:
        store = await open_store(url)
        dispatcher = Dispatcher(store, engine, clock=SystemClock(), agent_of=agent_of)
        run_id = await dispatcher.start(make_agent(model="extractive"), "Where is it?", user="ada")
        await store.close()
        return run_id

    return on(url, started)


def changed(url: str, statement: str) -> None:
    with psycopg.connect(parse_address(url).target, autocommit=True) as connection:
        connection.execute(statement.encode())


def a_worker(url: str) -> None:
    on(url, lambda engine: engine.app.job_manager.register_worker())


def test_where_no_runs_are_handed_out_nothing_is_said_of_a_queue_and_none_is_made(
    endstop: Endstop, postgres_url: str
) -> None:
    checks = told(endstop, postgres_url)
    assert checks["database"]["state"] == "ok"
    assert not {"queue of runs", "workers", "waiting runs", "lost runs"} & checks.keys()
    assert asyncio.run(queue_checks(postgres_url)) == []


def test_a_queue_without_workers_wants_some(endstop: Endstop, postgres_url: str) -> None:
    run_id = handed_out(postgres_url)
    checks = told(endstop, postgres_url)
    assert checks["queue of runs"]["state"] == "ok"
    assert "Procrastinate 3" in checks["queue of runs"]["detail"]
    assert (checks["workers"]["state"], checks["workers"]["detail"]) == ("attention", "none alive")
    assert checks["waiting runs"]["state"] == "attention"
    assert checks["waiting runs"]["detail"].startswith("1, the oldest for ")
    for name in ("workers", "waiting runs"):
        assert "endstop worker" in checks[name]["to_do"]
    assert checks["runs left open"]["detail"] == "none", "workers go on with it, and nobody else need"
    assert run_id not in str(checks)


def test_with_a_worker_alive_a_short_wait_is_fine(endstop: Endstop, postgres_url: str) -> None:
    handed_out(postgres_url)
    a_worker(postgres_url)
    checks = told(endstop, postgres_url)
    assert checks["workers"]["detail"] == "1 alive, no run under way"
    assert [checks[name]["state"] for name in ("workers", "waiting runs", "lost runs")] == ["ok"] * 3


@pytest.mark.parametrize(
    ("waited", "shown"), [("90 s", "90 s"), ("10 min", "10 min"), ("5 h", "5 h"), ("3 days", "3 days")]
)
def test_a_long_wait_is_told_with_what_to_do(
    endstop: Endstop, postgres_url: str, waited: str, shown: str
) -> None:
    handed_out(postgres_url)
    a_worker(postgres_url)
    changed(postgres_url, f"UPDATE endstop_handed SET handed_at = now() - interval '{waited}'")
    waiting = told(endstop, postgres_url)["waiting runs"]
    assert waiting["state"] == "attention"
    assert waiting["detail"] == f"1, the oldest for {shown}"
    assert "--concurrency" in waiting["to_do"]


def test_runs_that_workers_have_are_counted(endstop: Endstop, postgres_url: str) -> None:
    handed_out(postgres_url)
    a_worker(postgres_url)
    changed(postgres_url, "UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1")
    checks = told(endstop, postgres_url)
    assert checks["workers"]["detail"] == "1 alive, 1 run under way"
    assert checks["waiting runs"]["detail"] == "none"


def test_lost_runs_are_told(endstop: Endstop, postgres_url: str) -> None:
    handed_out(postgres_url)
    handed_out(postgres_url)
    changed(postgres_url, "DELETE FROM procrastinate_jobs")
    lost = told(endstop, postgres_url)["lost runs"]
    assert lost["state"] == "attention"
    assert lost["detail"].startswith("2 runs")
    assert "endstop worker" in lost["to_do"]


def test_tables_of_an_older_engine_are_broken_and_it_says_what_to_do(
    endstop: Endstop, postgres_url: str
) -> None:
    handed_out(postgres_url)
    changed(postgres_url, "DROP FUNCTION procrastinate_retry_job_v2")
    done = endstop("doctor", "--json", ENDSTOP_DATABASE_URL=postgres_url)
    queue = next(one for one in done.json["checks"] if one["name"] == "queue of runs")
    assert (done.code, queue["state"]) == (1, "broken")
    assert "psql" in queue["to_do"]
    assert "s3cret" not in done.out


def test_without_the_extra_nothing_is_said_but_how_to_get_it(
    endstop: Endstop, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_out(postgres_url)
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    checks = told(endstop, postgres_url)
    assert checks["extra scale"]["to_do"] == "pip install 'endstop[scale]'"
    assert "workers" not in checks
