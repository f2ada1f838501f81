"""The queue: who is given what, how much at once, what is refused, and what is found when it was lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from procrastinate import PsycopgConnector
from scale_cast import Play, agent, maker
from scale_clients import asked, server
from scale_stage import BEAT_S, SILENT_S, Stage, at_length, is_empty, stage, until

from endstop.app import SystemClock
from endstop.errors import RunStateError, StoreError, TooManyError
from endstop.events.facts import RunStarted
from endstop.kernel.review import RunPhase
from endstop.loop import Agent
from endstop.runner import Runner
from endstop.runner.opening import new_recorder
from endstop.runner.scale.dispatcher import Dispatcher, queue_of
from endstop.runner.scale.engine import Engine, Handed
from endstop.runner.scale.worker import Worker

pytestmark = pytest.mark.timeout(60)


def most_at_once(on: Stage, ids: set[str]) -> int:
    """How many effects of these runs were under way together, at most."""
    under_way = most = 0
    lines = [line for line in on.effects if line[1] in ids]
    for line in sorted(lines, key=lambda line: (float(line[4]), line[0] == "start")):
        under_way += 1 if line[0] == "start" else -1
        most = max(most, under_way)
    return most


@pytest.mark.thorough
async def test_workers_told_to_take_some_agents_take_only_those(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on:
        doers, others = await on.worker(queues=["doer"]), await on.worker(queues=["other"])
        mine = await on.start_many(3, Play(steps=2))
        theirs = await on.start_many(3, Play(steps=2, agent="other"))
        await on.ended([*mine, *theirs])
        assert {line[1] for line in on.began(by=doers.id)} == set(mine)
        assert {line[1] for line in on.began(by=others.id)} == set(theirs)


@pytest.mark.parametrize(
    ("name", "queue"),
    [("oracle", "oracle"), ("coding:planner", "coding"), ("two words", "runs"), ("", "runs")],
)
def test_an_agent_has_the_queue_of_its_kind(name: str, queue: str) -> None:
    assert queue_of(name) == queue


@pytest.mark.thorough
async def test_no_more_runs_of_a_user_or_a_model_are_under_way_than_allowed_and_none_starves(
    postgres_url: str, tmp_path: Path
) -> None:
    play = Play(steps=2, effect_s=0.15, think_s=0.01)
    async with stage(postgres_url, tmp_path) as on:
        limits: dict[str, Any] = {"per_user": 3, "per_model": 4}
        await on.some_workers(2, **limits)
        ada = await on.start_many(10, play, user="ada")
        bea = await on.start_many(10, play, user="bea")
        await on.ended([*ada, *bea])
        await on.require_sound([*ada, *bea])
        assert most_at_once(on, set(ada)) <= 3
        assert most_at_once(on, set(bea)) <= 3
        assert 2 <= most_at_once(on, {*ada, *bea}) <= 4
        began = [line[1] for line in on.began()]
        assert began.index(next(each for each in began if each in bea)) < began.index(ada[-1]), "bea waited"
        await until(lambda: is_empty(on), "nothing is left in the queue")


@at_length
async def test_the_places_of_a_dead_worker_are_free_again(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on:
        first, spare = await on.worker_and_spare(per_user=1)
        run_id = await on.start(Play(steps=5, effect_s=0.5))
        next_one = await on.start(Play(steps=1))
        await until(lambda: bool(on.began(run_id)), "the first has the place")
        spare.wake()
        first.kill()
        await on.ended([run_id, next_one])
        await on.require_sound([run_id, next_one])


async def test_too_many_waiting_runs_of_a_user_are_refused_with_when_to_come_again(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path, most_waiting_per_user=2) as on:
        await on.start_many(2, Play(), user="ada")
        with pytest.raises(TooManyError, match="2 runs of yours wait") as refused:
            await on.start(Play(), user="ada")
        assert refused.value.retry_after_s > 0
        await on.start(Play(), user="bea")


@pytest.mark.thorough
async def test_the_api_says_429_and_when_to_come_again_and_takes_more_when_there_is_room(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on, server(postgres_url, tmp_path) as one:
        ids = [await asked(one, Play(steps=1)) for _ in range(12)]
        async with one.client() as client:
            refused = await client.post("/api/oracle/query", json={"query": Play().question})
            assert refused.status_code == 429
            assert int(refused.headers["Retry-After"]) > 0
            assert refused.json()["error"]["code"] == "too_many"
            assert await _listed(client) == 12, "what was refused is nowhere"
        await on.worker()
        await on.ended(ids)
        assert await asked(one, Play(steps=1))


async def _listed(client: httpx.AsyncClient) -> int:
    return len((await client.get("/api/runs")).json()["runs"])


# ── lost and found ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
async def test_a_run_that_was_lost_between_its_record_and_the_queue_is_found(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on:
        play = Play(steps=1)
        recorder = new_recorder(agent(play), play.question, time=0.0, run_id="run_lost")
        await on.engine.announce(Handed(run_id="run_lost", queue="doer"))
        await on.store.append(recorder.facts)
        await on.worker()
        await on.ended(["run_lost"])
        await on.require_sound(["run_lost"])
        assert (await on.engine.counts())["runs_recovered"] == 1


@pytest.mark.thorough
async def test_a_job_that_no_worker_knows_of_is_given_up_and_handed_out_again(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on:
        await on.worker(queues=["other"])
        run_id = await on.start(Play(steps=1, agent="doer"))
        await on.sql(  # as a fetch leaves it whose answer got lost
            """
            UPDATE procrastinate_jobs SET status = 'doing', queue_name = 'other',
                   worker_id = (SELECT id FROM procrastinate_workers)
            """
        )
        await until(lambda: waits_again(on), "it was given up, and handed out")
        await on.worker(queues=["doer"])
        await on.ended([run_id])
        await on.require_sound([run_id])


async def waits_again(on: Stage) -> bool:
    state = await on.engine.state(silent_s=SILENT_S)
    return (state.waiting, state.under_way) == (1, 0)


@pytest.mark.thorough
async def test_a_job_for_a_run_that_is_gone_is_done_with(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on:
        await on.engine.hand_out(Handed(run_id="run_nowhere", queue="doer"))
        worker = await on.worker()
        await until(lambda: is_empty(on), "nothing is left of it")
        run_id = await on.start(Play(steps=1))
        await on.ended([run_id])
        assert await worker.drained() == 0


@pytest.mark.thorough
async def test_a_run_whose_agent_nobody_can_make_waits_and_can_be_cancelled(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on:
        play = Play(agent="stranger")
        with pytest.raises(RunStateError, match="cannot be handed to a worker"):
            await on.start(play)

        def knows_it(started: RunStarted) -> Agent:
            return agent(play)

        knowing = Dispatcher(on.store, on.engine, clock=SystemClock(), agent_of=knows_it)
        run_id = await knowing.start(agent(play), play.question, user="ada")
        worker = await on.worker(clock_s=-300.0)
        await until(lambda: "parked" in worker.log.read_text(), "the worker says so")
        await asyncio.sleep(4 * BEAT_S)
        assert worker.log.read_text().count("parked") == 1, "it is tried again and again"
        assert await on.phase(run_id) is RunPhase.RUNNING
        assert await on.dispatcher.cancel(run_id, by="ada")
        await on.require_sound([run_id])


# ── what it needs ─────────────────────────────────────────────────────────────────────────────────────────


async def test_processes_that_begin_together_make_the_tables_once(empty_postgres_url: str) -> None:
    engines = [Engine(empty_postgres_url) for _ in range(4)]
    await asyncio.gather(*(engine.open() for engine in engines))
    assert (await engines[0].state(silent_s=1)).workers == 0
    await asyncio.gather(*(engine.close() for engine in engines))


def test_a_database_that_is_not_postgresql_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="Workers need PostgreSQL") as refused:
        Engine(f"sqlite:///{tmp_path / 'runs.db'}")
    assert "--database postgresql://" in str(refused.value)


@at_length
async def test_a_process_stopped_in_the_middle_of_a_transaction_keeps_nobody_waiting(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on, Engine(postgres_url) as stopped:
        run_id = await on.start(Play(steps=1))
        connector = stopped.app.connector
        assert isinstance(connector, PsycopgConnector)
        async with connector.pool.connection() as connection:
            await connection.execute("BEGIN")
            await connection.execute("UPDATE procrastinate_jobs SET status = 'doing'")
            await on.worker()
            await on.ended([run_id], seconds=20)
            with pytest.raises(psycopg.Error, match="idle-in-transaction"):
                await connection.execute("COMMIT")


async def test_a_database_that_cannot_be_reached_is_named_without_its_password() -> None:
    engine = Engine("postgresql://endstop:s3cret@127.0.0.1:1/none")
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:1") as refused:
        await engine.open()
    assert "s3cret" not in str(refused.value)


@pytest.mark.thorough
async def test_tables_that_vanish_under_a_worker_do_not_end_it(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on:
        runner = Runner(on.store, clock=SystemClock(), agent_of=maker(tmp_path / "effects.log"))
        worker = Worker(on.store, on.engine, runner, beat_s=BEAT_S, silent_s=SILENT_S)
        working = asyncio.create_task(worker.run())
        await on.sql("ALTER TABLE procrastinate_jobs RENAME TO elsewhere")
        await asyncio.sleep(3 * BEAT_S)
        assert not working.done()
        await on.sql("ALTER TABLE elsewhere RENAME TO procrastinate_jobs")
        run_id = await on.start(Play(steps=1))
        await on.ended([run_id])
        await worker.drain()
        await working
        await on.require_sound([run_id])
