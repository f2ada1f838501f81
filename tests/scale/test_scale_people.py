"""What people do to runs that live in workers: decide, answer, grant, cancel; from another process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from scale_cast import Play, agent
from scale_clients import asked, server
from scale_stage import Stage, at_length, cleared, has_no_job, is_empty, stage, times_taken, until

from endstop.errors import RunStateError
from endstop.kernel.budget import Grant
from endstop.kernel.observation import CallStatus, ToolFinished
from endstop.kernel.outcome import Completed, UnderReview
from endstop.kernel.review import Approved, Rejected, RunPhase

pytestmark = pytest.mark.timeout(60)

MORE = Grant(turns=5, by="ada", why="It is nearly done.")


async def paused(on: Stage, play: Play, phase: RunPhase) -> str:
    """A run that waits for somebody, and is no job any more."""
    run_id = await on.start(play)
    await until(lambda: is_in(on, run_id, phase), "it waits")
    await until(lambda: has_no_job(on), "it is no job")
    return run_id


async def is_in(on: Stage, run_id: str, phase: RunPhase) -> bool:
    return await on.phase(run_id) is phase


@pytest.mark.guarantee("A8", "A9", "H5")
async def test_a_paused_run_is_no_job_and_goes_on_when_it_has_what_it_waited_for(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on:
        worker = await on.worker()
        short, asking = Play(steps=4, turns=3), Play(steps=2, asks=True)
        decided = await paused(on, short, RunPhase.BUDGET_REVIEW)
        granted = await paused(on, short, RunPhase.BUDGET_REVIEW)
        rejected = await paused(on, short, RunPhase.BUDGET_REVIEW)
        answered = await paused(on, asking, RunPhase.AWAIT_USER)
        dropped = await paused(on, asking, RunPhase.AWAIT_USER)
        await asyncio.sleep(1.0)
        assert await on.jobs() == 0, "they are not looked for"
        worker.kill()

        with pytest.raises(RunStateError, match="BUDGET_REVIEW"):
            await on.dispatcher.resume_in_background(decided)
        await on.dispatcher.decide(decided, Approved(grant=MORE))
        await on.dispatcher.resume_in_background(decided)
        await on.dispatcher.resume_in_background(granted, grant=MORE)
        await on.dispatcher.decide(rejected, Rejected(by="ada", why="Enough."))
        await on.dispatcher.resume_in_background(answered, answer="Yes, please.")
        assert await on.dispatcher.cancel(dropped, by="ada"), "nobody works on it"
        assert await on.phase(rejected) is RunPhase.ENDED

        await on.worker()
        ids = [decided, granted, rejected, answered, dropped]
        await on.ended(ids)
        records = dict(zip(ids, await on.require_sound(ids), strict=True))
        for run_id in (decided, granted, answered):
            assert "done 1" in str([fact.payload for fact in records[run_id]])
            assert times_taken(records[run_id]) == 2
        assert set(await on.handed()) <= {rejected, dropped}, "these ended by other hands"
        await cleared(on)


@pytest.mark.thorough
async def test_whoever_waits_for_a_run_gets_it_as_from_any_runner(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on:
        await on.worker()
        play = Play(steps=2, turns=2)
        done = await on.dispatcher.run(agent(play), play.question, user="ada")
        assert isinstance(done.outcome, UnderReview)
        done = await on.dispatcher.resume(done.id, grant=MORE)
        assert isinstance(done.outcome, Completed)
        assert done.answer == play.answer
        assert done.audit()


@pytest.mark.thorough
@pytest.mark.guarantee("D10")
async def test_a_run_in_a_worker_is_cancelled_over_the_api_now_or_after_its_turn(
    postgres_url: str, tmp_path: Path
) -> None:
    play = Play(steps=50, effect_s=1.0)
    async with stage(postgres_url, tmp_path) as on, server(postgres_url, tmp_path) as one:
        await on.worker()
        now, later = await asked(one, play), await asked(one, play)
        await until(lambda: len({line[1] for line in on.began()}) == 2, "both have begun")
        async with one.client() as client:
            for run_id, after_turn in ((now, False), (later, True)):
                answer = await client.post(f"/api/runs/{run_id}/cancel", json={"after_turn": after_turn})
                assert answer.status_code in (200, 202), answer.text
        took_s = await until(lambda: is_in(on, now, RunPhase.ENDED), "it ends at once")
        assert took_s < 1.0
        await on.ended([later])
        first, second = await on.require_sound([now, later])
        cut = [fact.payload.status for fact in first if isinstance(fact.payload, ToolFinished)]
        assert cut == [CallStatus.CANCELLED]
        kept = [fact.payload.status for fact in second if isinstance(fact.payload, ToolFinished)]
        assert set(kept) == {CallStatus.EXECUTED}
        assert times_taken(first) == times_taken(second) == 1, "the worker has ended them"
        await until(lambda: is_empty(on), "nothing is left in the queue")


@pytest.mark.thorough
async def test_a_run_that_waits_in_the_queue_is_cancelled_at_once(postgres_url: str, tmp_path: Path) -> None:
    async with stage(postgres_url, tmp_path) as on:
        run_id = await on.start(Play())
        assert await on.dispatcher.cancel(run_id, by="ada")
        assert await on.phase(run_id) is RunPhase.ENDED
        await on.worker()
        await until(lambda: is_empty(on), "the worker has cleared it away")
        await on.require_sound([run_id])
        assert on.effects == []


@at_length
@pytest.mark.guarantee("D10")
async def test_a_run_whose_worker_has_just_died_is_cancelled_by_whoever_takes_it(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on:
        first, spare = await on.worker_and_spare()
        run_id = await on.start(Play(steps=50, effect_s=0.2))
        await until(lambda: len(on.began()) >= 2, "it has begun")
        first.kill()
        await on.dispatcher.cancel(run_id, by="ada")
        spare.wake()
        await on.ended([run_id])
        await on.require_sound([run_id])
