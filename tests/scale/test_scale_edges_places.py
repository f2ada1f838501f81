"""Places per user and per model: never more than there are, and for whoever has waited longest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import psycopg
import pytest
from scale_cast import Play, agent, maker

from endstop.app import SystemClock
from endstop.errors import StoreError
from endstop.kernel.outcome import Cancelled, Completed
from endstop.runner import Runner
from endstop.runner.scale import places
from endstop.runner.scale.dispatcher import Dispatcher
from endstop.runner.scale.engine import Engine, Handed
from endstop.runner.scale.places import Places
from endstop.runner.scale.worker import Worker
from endstop.store import open_store

SILENT_S = 5.0


@pytest.fixture
async def engine(postgres_url: str) -> AsyncGenerator[Engine]:
    async with Engine(postgres_url) as opened:
        yield opened


def run(number: int, *, user: str | None = "ada", model: str = "a:model", priority: int = 0) -> Handed:
    return Handed(run_id=f"run_{number}", user=user, model=model, priority=priority)


def places_of(engine: Engine, *, per_user: int | None = None, per_model: int | None = None) -> Places:
    return Places(engine, per_user=per_user, per_model=per_model, silent_s=SILENT_S)


async def a_worker(engine: Engine) -> int:
    return await engine.app.job_manager.register_worker()


async def told(engine: Engine, *handed: Handed) -> None:
    """Have runs handed out, in this order, as if their jobs had been fetched already."""
    for one in handed:
        await engine.announce(one)


async def queued(engine: Engine) -> list[str]:
    return [job.lock or "" for job in await engine.app.job_manager.list_jobs_async()]


async def changed(engine: Engine, statement: str) -> None:
    async with await psycopg.AsyncConnection.connect(engine.address.target, autocommit=True) as connection:
        await connection.execute(statement.encode())


async def test_without_limits_there_is_a_place_for_every_run(engine: Engine) -> None:
    worker, free = await a_worker(engine), places_of(engine)
    runs = [run(number) for number in range(30)]
    await told(engine, *runs)
    assert all([await free.take(one, worker) for one in runs])
    for one in runs:
        await free.leave(one, worker)
    assert await queued(engine) == []


@pytest.mark.parametrize(("per_user", "per_model"), [(2, None), (None, 2), (2, 5), (5, 2)])
async def test_there_are_so_many_places_and_no_more(
    engine: Engine, per_user: int | None, per_model: int | None
) -> None:
    worker, limited = await a_worker(engine), places_of(engine, per_user=per_user, per_model=per_model)
    runs = [run(number) for number in range(4)]
    await told(engine, *runs)
    assert [await limited.take(one, worker) for one in runs] == [True, True, False, False]


async def test_limits_count_apart_for_each_user_and_each_model(engine: Engine) -> None:
    worker, limited = await a_worker(engine), places_of(engine, per_user=1, per_model=2)
    runs = [
        run(1, user="ada", model="a:x"),
        run(2, user="ada", model="a:y"),  # no place for the user
        run(3, user="bob", model="a:x"),
        run(4, user="cem", model="a:x"),  # no place for the model
        run(5, user=None, model="a:y"),
        run(6, user=None, model="a:y"),  # nobody's runs are not those of one user
    ]
    await told(engine, *runs)
    assert [await limited.take(one, worker) for one in runs] == [True, False, True, False, True, True]


async def test_workers_that_ask_at_the_same_moment_share_the_places(
    engine: Engine, postgres_url: str
) -> None:
    runs = [run(number) for number in range(24)]
    await told(engine, *runs)
    async with Engine(postgres_url) as other:
        workers = [await a_worker(engine), await a_worker(other)]
        both = [places_of(engine, per_user=3), places_of(other, per_user=3)]
        answers = await asyncio.gather(
            *(both[number % 2].take(one, workers[number % 2]) for number, one in enumerate(runs))
        )
    assert sum(answers) == 3


async def test_limits_of_two_kinds_never_make_workers_wait_in_a_circle(engine: Engine) -> None:
    worker, limited = await a_worker(engine), places_of(engine, per_user=2, per_model=2)
    runs = [run(number, user=f"user{number % 3}", model=f"a:{number % 2}") for number in range(24)]
    await told(engine, *runs)

    async def worked(one: Handed) -> None:
        if await limited.take(one, worker):
            await limited.leave(one, worker)

    async with asyncio.timeout(20):
        await asyncio.gather(*(worked(one) for one in runs))


async def test_a_run_that_waits_for_a_place_is_not_taken_for_lost(engine: Engine, postgres_url: str) -> None:
    store = await open_store(postgres_url)
    dispatcher = Dispatcher(store, engine, clock=SystemClock(), agent_of=maker(None))
    play = Play()
    waiting = await dispatcher.start(agent(play), play.question, user="ada")
    await store.close()
    await changed(engine, "DELETE FROM procrastinate_jobs")
    (lost,) = await engine.lost()
    assert lost.run_id == waiting
    worker, limited = await a_worker(engine), places_of(engine, per_user=1)
    await told(engine, run(1))
    await limited.take(run(1), worker)
    assert not await limited.take(lost, worker)
    assert await engine.lost() == []


async def test_a_run_without_a_place_is_no_job_and_counts_as_waiting(engine: Engine) -> None:
    worker, limited = await a_worker(engine), places_of(engine, per_user=1)
    await told(engine, run(1), run(2))
    await limited.take(run(1), worker)
    await limited.take(run(2), worker)
    assert await queued(engine) == []
    state = await engine.state(silent_s=SILENT_S)
    assert (state.waiting, await engine.waiting_of("ada"), await engine.waiting_of("bob")) == (1, 1, 0)
    assert state.oldest_wait_s is not None


async def test_who_has_waited_longest_gets_the_place_and_nobody_comes_in_between(engine: Engine) -> None:
    worker, limited = await a_worker(engine), places_of(engine, per_user=1)
    first, *waiting = runs = [run(number) for number in range(5)]
    await told(engine, *runs)
    for one in (first, *reversed(waiting)):  # they ask in another order than they came
        await limited.take(one, worker)
    newcomer = run(99)
    await told(engine, newcomer)
    held = first
    served: list[str] = []
    for expected in waiting:
        await limited.leave(held, worker)
        assert not await limited.take(newcomer, worker)  # the place is kept
        assert (await queued(engine))[-1] == expected.run_id
        assert await limited.take(expected, worker)
        held = expected
        served.append(expected.run_id)
    assert served == ["run_1", "run_2", "run_3", "run_4"]
    await limited.leave(held, worker)
    assert (await queued(engine))[-1] == "run_99"


async def test_urgent_runs_get_a_place_first(engine: Engine) -> None:
    worker, limited = await a_worker(engine), places_of(engine, per_model=1)
    held, patient, urgent = run(1), run(2), run(3, priority=5)
    await told(engine, held, patient, urgent)
    for one in (held, patient, urgent):
        await limited.take(one, worker)
    await limited.leave(held, worker)
    assert await queued(engine) == ["run_3"]


async def test_a_run_that_has_ended_and_is_forgotten_leaves_its_place_all_the_same(engine: Engine) -> None:
    worker, limited = await a_worker(engine), places_of(engine, per_user=1)
    await told(engine, run(1), run(2))
    await limited.take(run(1), worker)
    await limited.take(run(2), worker)
    await engine.forget("run_1")
    await limited.leave(run(1), worker)
    assert await queued(engine) == ["run_2"]


async def test_a_run_that_was_forgotten_gets_no_place(engine: Engine) -> None:
    assert not await places_of(engine, per_user=1).take(run(1), await a_worker(engine))


async def test_a_place_that_was_kept_for_nobody_is_free_after_a_while(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "KEPT_S", 0.0)
    worker, limited = await a_worker(engine), places_of(engine, per_user=1)
    await told(engine, run(1), run(2), run(3))
    await limited.take(run(1), worker)
    await limited.take(run(2), worker)
    await limited.leave(run(1), worker)
    assert await limited.take(run(3), worker)


async def test_the_places_of_a_dead_worker_are_free_and_those_who_wait_ask_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead, alive = await a_worker(engine), await a_worker(engine)
    limited = places_of(engine, per_user=1)
    await told(engine, run(1), run(2))
    await limited.take(run(1), dead)
    await limited.take(run(2), alive)
    await limited.stir()
    assert await queued(engine) == []  # it has only just asked
    await changed(
        engine, f"UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 h' WHERE id = {dead}"
    )
    monkeypatch.setattr(places, "STIR_S", 0.0)
    await limited.stir()
    await limited.stir()  # once is enough
    assert await queued(engine) == ["run_2"]
    assert await limited.take(run(2), alive)


async def test_whoever_asks_again_keeps_the_age_of_its_wait(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, limited = await a_worker(engine), places_of(engine, per_user=1)
    await told(engine, run(1), run(2))
    await changed(engine, "UPDATE endstop_handed SET handed_at = now() - interval '1 h'")
    await limited.take(run(1), worker)
    await limited.take(run(2), worker)
    monkeypatch.setattr(places, "STIR_S", 0.0)
    await limited.stir()
    oldest = (await engine.state(silent_s=SILENT_S)).oldest_wait_s
    assert oldest is not None
    assert oldest >= 3_600


async def test_the_stricter_worker_leaves_runs_to_the_others(engine: Engine) -> None:
    """Limits that differ: what others take counts, and whoever allows more takes more."""
    worker = await a_worker(engine)
    strict, loose = places_of(engine, per_user=1), places_of(engine, per_user=2)
    runs = [run(number) for number in range(3)]
    await told(engine, *runs)
    assert await strict.take(runs[0], worker)
    assert not await strict.take(runs[1], worker)
    assert await loose.take(runs[1], worker)
    assert not await loose.take(runs[2], worker)


async def test_a_database_that_is_gone_is_told_as_such(engine: Engine) -> None:
    limited = places_of(engine, per_user=1)
    await changed(engine, "DROP TABLE endstop_handed")
    with pytest.raises(StoreError, match="could not be written"):
        await limited.take(run(1), 1)


@pytest.mark.thorough
async def test_a_run_that_is_cancelled_while_it_waits_for_a_place_is_gone_for_good(
    engine: Engine, postgres_url: str, tmp_path: Path
) -> None:
    store = await open_store(postgres_url)
    dispatcher = Dispatcher(store, engine, clock=SystemClock(), agent_of=maker(None))
    runner = Runner(store, clock=SystemClock(), agent_of=maker(tmp_path / "effects.log"))
    async with Engine(postgres_url) as own, asyncio.timeout(30):
        worker = Worker(store, own, runner, per_user=1, beat_s=0.2, silent_s=SILENT_S)
        working = asyncio.create_task(worker.run())
        play = Play(steps=3, effect_s=0.3)
        ids = [await dispatcher.start(agent(play), play.question, user="ada") for _ in range(3)]
        while (await engine.state(silent_s=SILENT_S)).waiting != 2 or await queued(engine) != ids[:1]:
            await asyncio.sleep(0.02)
        await dispatcher.cancel(ids[1], by="ada")
        ended = [await dispatcher.wait(run_id) for run_id in ids]
        while await engine.among(ids):
            await asyncio.sleep(0.02)
        await worker.drain()
        await working
    await store.close()
    assert [type(one.outcome) for one in ended] == [Completed, Cancelled, Completed]
    assert all(one.audit() for one in ended)
    assert await queued(engine) == []


# ── moments ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_moments_of_a_model_are_apart_by_its_rate_whoever_takes_them(
    engine: Engine, postgres_url: str
) -> None:
    async with Engine(postgres_url) as other:
        away = [await (engine, other)[number % 2].wait_for("a:model", 60) for number in range(4)]
    assert away[0] == 0.0
    for number, seconds in enumerate(away[1:], start=1):
        assert number - 1 < seconds <= number
    assert await engine.wait_for("another:model", 60) == 0.0


async def test_moments_that_nobody_took_are_not_saved_up(engine: Engine) -> None:
    await engine.wait_for("a:model", 600)
    await changed(engine, "UPDATE endstop_rates SET next_at = now() - interval '1 h'")
    away = [await engine.wait_for("a:model", 6) for _ in range(2)]
    assert away[0] == 0.0
    assert away[1] > 5
