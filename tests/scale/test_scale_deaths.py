"""Workers that are killed, stopped and woken, drained: every run ends once, and no effect is repeated."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest
from scale_cast import Play
from scale_stage import RECOVERED_S, SILENT_S, at_length, is_empty, said, stage, times_taken, until

from endstop.kernel.observation import CallStatus, ToolFinished

pytestmark = pytest.mark.timeout(60)


@pytest.mark.guarantee("H5", "A9", "H1")
async def test_the_runs_of_a_killed_worker_go_on_elsewhere_and_no_effect_is_repeated(
    postgres_url: str, tmp_path: Path
) -> None:
    play = Play(steps=6, effect_s=0.3)
    async with stage(postgres_url, tmp_path) as on:
        first, second = await on.worker_and_spare()
        ids = await on.start_many(5, play)
        await until(lambda: len(on.began(by=first.id)) >= 8, "effects under way")
        second.wake()
        first.kill()
        killed_s = time.monotonic()
        await until(lambda: {line[1] for line in on.began(by=second.id)} == set(ids), "all go on")
        assert time.monotonic() - killed_s < RECOVERED_S
        await on.ended(ids)
        records = await on.require_sound(ids)
        cut = [
            fact.payload.status
            for facts in records
            for fact in facts
            if isinstance(fact.payload, ToolFinished) and fact.payload.status is not CallStatus.EXECUTED
        ]
        assert cut
        assert set(cut) == {CallStatus.INTERRUPTED}
        assert all(times_taken(facts) == 2 for facts in records), "taken more often than workers died"
        await until(lambda: is_empty(on), "nothing is left in the queue")


@pytest.mark.thorough
@pytest.mark.guarantee("H5", "H1")
async def test_a_worker_that_sleeps_past_its_lease_lets_go_when_it_wakes(
    postgres_url: str, tmp_path: Path
) -> None:
    play = Play(steps=12, effect_s=0.15)
    async with stage(postgres_url, tmp_path) as on:
        first, second = await on.worker_and_spare()
        ids = await on.start_many(4, play)
        await until(lambda: len(on.began(by=first.id)) >= 8, "effects under way")
        second.wake()
        first.stop()
        await until(lambda: {line[1] for line in on.began(by=second.id)} == set(ids), "all go on")
        first.wake()
        await on.ended(ids)
        records = await on.require_sound(ids)
        assert all(times_taken(facts) == 2 for facts in records), "they fought over it"
        counts = await on.engine.counts()
        assert counts["leases_lost"] == len(ids)
        assert first.is_alive
        more = await on.start_many(10, Play(effect_s=0.2, steps=3))
        await on.ended(more)
        assert on.began(by=first.id)[-1][1] in more, "it works on"
        assert await first.drained() == 0
        await until(lambda: is_empty(on), "nothing is left in the queue")


@at_length
async def test_a_worker_alone_that_slept_goes_on_with_its_own_runs(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on:
        worker = await on.worker()
        ids = await on.start_many(3, Play(steps=8, effect_s=0.1))
        await until(lambda: len(on.began()) >= 6, "effects under way")
        worker.stop()
        await asyncio.sleep(SILENT_S * 2)
        worker.wake()
        await on.ended(ids)
        records = await on.require_sound(ids)
        assert [times_taken(facts) for facts in records] == [1, 1, 1], "nobody else was there to take them"
        await until(lambda: is_empty(on), "nothing is left in the queue")


@pytest.mark.thorough
@pytest.mark.guarantee("D10")
async def test_a_worker_told_to_end_finishes_its_turns_and_hands_its_runs_back(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on:
        first, second = await on.worker_and_spare()
        ids = await on.start_many(5, Play(steps=2, effect_s=SILENT_S * 1.5))
        await until(lambda: len({line[1] for line in on.began()}) == 5, "all have begun")
        second.wake()
        assert await first.drained() == 0
        assert len(on.effects) % 2 == 0 or on.began(by=second.id), "an effect was cut off"
        await on.ended(ids)
        records = await on.require_sound(ids)
        statuses = {
            fact.payload.status
            for facts in records
            for fact in facts
            if isinstance(fact.payload, ToolFinished)
        }
        assert statuses == {CallStatus.EXECUTED}
        assert {line[1] for line in on.began(by=second.id)} == set(ids)
        assert await second.drained() == 0


@pytest.mark.thorough
async def test_a_turn_that_takes_too_long_is_cut_off_when_a_worker_ends_and_reported(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on:
        first = await on.worker(drain_s=0.2)
        (run_id,) = await on.start_many(1, Play(steps=2, effect_s=5.0))
        await until(lambda: len(on.began()) == 1, "it has begun")
        assert await first.drained(seconds=8.0) == 0
        await on.dispatcher.cancel(run_id, by="ada")
        await on.worker()
        await on.ended([run_id])
        await on.require_sound([run_id])


@at_length
@pytest.mark.guarantee("H5", "A9", "A14")
async def test_workers_killed_at_random_moments_lose_and_repeat_nothing(
    postgres_url: str, tmp_path: Path
) -> None:
    chance = random.Random(11)
    play = Play(steps=6, effect_s=0.1, think_s=0.05, words=20, word_s=0.01)
    async with stage(postgres_url, tmp_path) as on:
        alive = await on.some_workers(2)
        ids = await on.start_many(20, play)
        for _ in range(3):
            await asyncio.sleep(chance.random() * 0.6)
            alive.pop(chance.randrange(len(alive))).kill()
            alive.append(await on.worker())
        await on.ended(ids)
        records = await on.require_sound(ids)
        assert all(said(facts).endswith(play.answer) for facts in records)
        assert any(times_taken(facts) > 1 for facts in records)
