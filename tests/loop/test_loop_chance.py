"""Runs made by chance, interrupted by chance: whatever happens, they end, and their record stands up."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from chance_runs import Chance, FlakyStore
from loop_words import runner

from endstop.errors import GrantRefusedError, RunStateError, StoreError, UnknownRunError
from endstop.kernel.budget import Grant
from endstop.kernel.outcome import AwaitingUser, Failed, UnderReview
from endstop.kernel.review import Rejected, RunPhase
from endstop.loop import Agent
from endstop.runner import Run

MOST_PAUSES = 6


def require_sound(run: Run) -> None:
    assert run.audit(), str(run.audit())
    for fact in run.facts:
        assert fact.type != "budget.overrun"
        ending = getattr(fact.payload, "outcome", None)
        assert not (isinstance(ending, Failed) and ending.code == "driver_failed"), ending


async def brought_to_its_end(run: Run, store: FlakyStore, agent: Agent) -> Run:
    """Decide and answer whatever the run waits for, until it has ended."""
    home = runner(store)
    for _ in range(MOST_PAUSES):
        try:
            match run.outcome:
                case UnderReview():
                    grant = Grant(turns=1, by="ada", why="by chance")
                    run = await home.resume(run.id, agent=agent, grant=grant)
                case AwaitingUser():
                    run = await home.resume(run.id, agent=agent, answer="Go on, then.")
                case _:
                    return run
        except GrantRefusedError:
            await home.decide(run.id, Rejected(by="ada", why="it cannot be granted more"))
            return await home.wait(run.id)
    if isinstance(run.outcome, UnderReview | AwaitingUser):
        await home.cancel(run.id, by="ada")
        run = await home.wait(run.id)
    return run


@pytest.mark.guarantee("A6", "A7", "A14", "D9", "F3")
@pytest.mark.parametrize("seed", range(120))
async def test_a_run_by_chance_ends_and_stands_up_to_an_audit(seed: int) -> None:
    chance, store = Chance(seed), FlakyStore()
    agent = chance.agent()
    home = runner(store)
    run_id = await home.start(agent, "What now?")
    if chance.happens(0.2):
        await asyncio.sleep(chance.random.random() / 100)
        with suppress(RunStateError):
            await home.cancel(run_id, by="ada", after_turn=chance.happens(0.5))
    run = await brought_to_its_end(await home.wait(run_id), store, agent)
    assert run.outcome is not None
    require_sound(run)


@pytest.mark.guarantee("A9", "A14", "H1", "H5")
@pytest.mark.parametrize("seed", range(1_000, 1_120))
async def test_a_run_that_is_interrupted_by_chance_can_always_go_on(seed: int) -> None:
    chance, store = Chance(seed), FlakyStore()
    agent = chance.agent()
    for _ in range(chance.random.randint(1, 4)):
        store.left = chance.random.randint(1, 12) if chance.happens(0.4) else None
        try:
            await store.run("r")
            running = asyncio.create_task(runner(store).resume("r", agent=agent))
        except UnknownRunError:
            running = asyncio.create_task(runner(store).run(agent, "What now?", run_id="r"))
        await asyncio.sleep(chance.random.random() / 100)
        for _ in range(chance.random.choice([0, 1, 1, 2])):
            running.cancel()
            await asyncio.sleep(0)
        with suppress(asyncio.CancelledError, StoreError, RunStateError):
            await running
    store.left = None
    try:
        is_open = (await store.run("r")).phase is RunPhase.RUNNING
    except UnknownRunError:
        return  # it was interrupted before it began
    run = await (runner(store).resume("r", agent=agent) if is_open else runner(store).wait("r"))
    run = await brought_to_its_end(run, store, agent)
    assert run.outcome is not None
    require_sound(run)
