"""Workers that are cut off from their database, a database that is restarted, clocks that are apart."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from scale_cast import Play
from scale_lines import line_to, restarted
from scale_stage import BEAT_S, RECOVERED_S, SILENT_S, at_length, cleared, stage, times_taken, until

from endstop.kernel.observation import Observation, RunEnded
from endstop.kernel.review import RunPhase
from postgres import PostgresServer

pytestmark = pytest.mark.timeout(90)


@pytest.mark.thorough
@pytest.mark.guarantee("H5", "H1")
@pytest.mark.parametrize("way", ["cut", pytest.param("freeze", marks=at_length)])
async def test_a_worker_cut_off_from_the_database_loses_its_runs_and_works_on_when_it_is_back(
    way: str, postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on, line_to(postgres_url) as line:
        first = await on.worker(url=line.url(postgres_url))
        spare = await on.worker()
        spare.stop()
        ids = await on.start_many(4, Play(steps=12, effect_s=0.2))
        await until(lambda: len(on.began(by=first.id)) >= 8, "effects under way")
        spare.wake()
        getattr(line, way)()
        cut_s = time.monotonic()
        await until(lambda: {each[1] for each in on.began(by=spare.id)} == set(ids), "all go on")
        assert time.monotonic() - cut_s < RECOVERED_S
        line.mend()
        await on.ended(ids)
        records = await on.require_sound(ids)
        assert all(times_taken(facts) == 2 for facts in records), "they fought over it"
        spare.kill()
        more = await on.start_many(3, Play(steps=2))
        await on.ended(more)
        assert {each[1] for each in on.began(by=first.id)} >= set(more), "it works on"
        assert await first.drained() == 0


@at_length
async def test_nobody_is_taken_for_dead_who_was_cut_off_together_with_whoever_looks(
    postgres_url: str, tmp_path: Path
) -> None:
    async with (
        stage(postgres_url, tmp_path) as on,
        line_to(postgres_url) as one,
        line_to(postgres_url) as other,
    ):
        await on.worker(url=other.url(postgres_url))
        spare = await on.worker(url=one.url(postgres_url))
        spare.stop()
        ids = await on.start_many(4, Play(steps=1, effect_s=3 * SILENT_S))
        await until(lambda: len(on.began()) == 4, "effects under way")
        spare.wake()
        await asyncio.sleep(BEAT_S)
        for line in (one, other):
            line.freeze()
        await asyncio.sleep(1.5 * SILENT_S)
        one.mend()
        await asyncio.sleep(0.5 * BEAT_S)
        other.mend()
        await on.ended(ids)
        records = await on.require_sound(ids)
        assert [times_taken(facts) for facts in records] == [1] * 4


@at_length
async def test_a_long_cut_keeps_a_worker_with_a_long_turn_from_nothing(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on, line_to(postgres_url) as line:
        worker = await on.worker(url=line.url(postgres_url))
        slow = await on.start(Play(steps=1, effect_s=25.0))
        await until(lambda: len(on.began()) == 1, "its effect is under way")
        line.cut()
        await asyncio.sleep(13.0)
        line.mend()
        quick = await on.start(Play(steps=1))
        await on.ended([quick], seconds=RECOVERED_S)
        await on.ended([slow])
        records = await on.require_sound([slow, quick])
        assert [times_taken(facts) for facts in records] == [1, 1]
        assert await worker.drained() == 0


@pytest.mark.thorough
async def test_a_worker_that_was_cleared_away_as_dead_works_on(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on:
        worker = await on.worker()
        await on.sql("DELETE FROM procrastinate_workers")
        ids = await on.start_many(3, Play(steps=1))
        await on.ended(ids)
        await on.require_sound(ids)
        await cleared(on)
        assert (await on.engine.state(silent_s=SILENT_S)).workers == 1
        assert await worker.drained() == 0


@at_length
async def test_a_short_cut_costs_a_worker_alone_no_run(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on, line_to(postgres_url) as line:
        worker = await on.worker(url=line.url(postgres_url), silent_s=6.0)
        ids = await on.start_many(6, Play(steps=6, effect_s=0.1))
        for _ in range(3):
            began = len(on.began())
            await until(lambda: len(on.began()) > began + 3, "they go on")  # noqa: B023 - at once
            line.cut()
            await asyncio.sleep(0.2)
            line.mend()
        await on.ended(ids)
        await on.require_sound(ids)
        await cleared(on)
        assert await worker.drained() == 0


@pytest.mark.thorough
@pytest.mark.guarantee("H5", "H4")
@pytest.mark.parametrize("down_s", [0.5, pytest.param(SILENT_S * 2, marks=at_length)])
async def test_a_database_that_was_restarted_finds_all_runs_going_on(
    own_server: list[PostgresServer], tmp_path: Path, down_s: float
) -> None:
    async with stage(own_server[0].url("own"), tmp_path) as on:
        workers = await on.some_workers(2)
        ids = await on.start_many(8, Play(steps=8, effect_s=0.15))
        await until(lambda: len({each[1] for each in on.began()}) == 8, "all have begun")
        own_server.append(await restarted(own_server[0], down_s=down_s))
        back_s = time.monotonic()
        began = len(on.began())
        await until(lambda: len(on.began()) > began + 8, "they go on")
        assert time.monotonic() - back_s < RECOVERED_S + 3
        await on.ended(ids)
        await on.require_sound(ids)
        assert all(worker.is_alive for worker in workers)
        await cleared(on)
        assert [await worker.drained() for worker in workers] == [0, 0]
        for worker in workers:
            told = worker.log.read_text().splitlines()
            assert len(told) <= 1, "one line for an outage, and not one for each who noticed"
            assert all("the database cannot be used" in line for line in told)
            assert bool(told) or down_s < SILENT_S


@pytest.mark.thorough
@pytest.mark.guarantee("A9")
@pytest.mark.parametrize("apart_s", [(300.0, -300.0), pytest.param((-300.0, 300.0), marks=at_length)])
async def test_clocks_apart_by_minutes_change_nothing(
    apart_s: tuple[float, float], postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on:
        second = await on.worker(clock_s=apart_s[1], per_user=1)
        first = await on.worker(clock_s=apart_s[0])
        second.stop()
        ids = await on.start_many(3, Play(steps=6, effect_s=0.2))
        await until(lambda: len(on.began(by=first.id)) >= 6, "effects under way")
        second.wake()
        first.kill()
        await until(lambda: bool(on.began(by=second.id)), "they go on", seconds=RECOVERED_S + 2)
        await on.ended(ids, seconds=20)
        for facts in await on.require_sound(ids):
            times = [fact.payload.at_s for fact in facts if isinstance(fact.payload, Observation)]
            assert times == sorted(times)
            assert times[-1] < 30, "minutes were charged that nobody has lived"
            assert isinstance(facts[-1].payload, RunEnded)
            assert "completed" in str(facts[-1].payload.outcome).lower()


@pytest.mark.thorough
@pytest.mark.guarantee("D10")
@pytest.mark.parametrize("apart_s", [-300.0, pytest.param(300.0, marks=at_length)])
async def test_a_run_is_cancelled_after_its_turn_whatever_the_clock_of_its_worker_says(
    apart_s: float, postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on:
        await on.worker(clock_s=apart_s)
        run_id = await on.start(Play(steps=50, effect_s=0.5))
        await until(lambda: len(on.began()) == 1, "the first effect is under way")
        assert not await on.dispatcher.cancel(run_id, by="ada", after_turn=True), "a worker has it"
        await on.ended([run_id])
        (facts,) = await on.require_sound([run_id])
        assert times_taken(facts) == 1, "the worker ended it, nobody else"
        assert len(on.effects) == 2, "the turn was not finished"
        assert await on.phase(run_id) is RunPhase.ENDED
