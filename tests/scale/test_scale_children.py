"""Sub-agents on other machines: the budget travels with them, and what they do not use flows back (A7)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest
from children_cast import Cast, machine, of, until, working

from endstop.errors import GrantRefusedError, RunStateError
from endstop.events.burndown import burndown
from endstop.events.facts import ChildHandedOut, RunDelegated, RunStarted, RunTaken
from endstop.events.summary import summarise
from endstop.guard.clock import SystemClock
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.observation import (
    CallReserved,
    CallSettled,
    ChildSettled,
    ScopeEnded,
    ScopeOpened,
    ToolFinished,
)
from endstop.kernel.outcome import Cancelled, Completed, Forced, StopRule
from endstop.loop import Agent
from endstop.loop.elsewhere import Child
from endstop.runner import Runner
from endstop.runner.scale.dispatcher import Dispatcher

pytestmark = pytest.mark.timeout(60)


@pytest.mark.guarantee("A7", "H1")
async def test_a_sub_agent_runs_on_another_machine_and_what_it_used_is_settled_in_its_scope(
    postgres_url: str,
) -> None:
    cast = Cast()
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        done = await here.runner.run(cast.boss(), "Go.", run_id="r", user="ada")
        child = await here.require_ended("r.1")
    assert done.outcome == Completed(answer="All read.")
    assert cast.outcomes == [Completed(answer="It is so.")]
    assert done.audit(), str(done.audit())
    [handed], [settled] = of(done, ChildHandedOut), of(done, ChildSettled)
    [ended] = of(done, ScopeEnded)
    assert (handed.run_id, handed.agent, ended.outcome) == ("r.1", "reader", cast.outcomes[0])
    assert of(child, RunDelegated) == [RunDelegated(parent="r", parent_scope=handed.scope)]
    assert of(child, RunTaken)[0].owner != here.runner.owner
    used = summarise(child).usage
    assert (settled.turns, settled.tool_calls, settled.is_estimate) == (3, 2, False)
    assert settled.input_tokens + settled.output_tokens == used.tokens > 0
    own = sum(one.input_tokens + one.output_tokens for one in of(done, CallSettled))
    assert done.usage.tokens == own + used.tokens
    assert (done.usage.turns, done.usage.tool_calls) == (2 + 3, 1 + 2)
    assert of(child, RunStarted)[0].user == "ada"


@pytest.mark.guarantee("A7")
async def test_lists_and_pictures_count_what_a_sub_agent_elsewhere_used(postgres_url: str) -> None:
    cast = Cast()
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        done = await here.runner.run(cast.boss(), "Go.", run_id="r")
        listed = await here.store.run("r")
    used, last = done.usage, burndown(done.facts).points[-1]
    assert (listed.turns, listed.tokens, listed.cost_usd) == (used.turns, used.tokens, used.cost_usd)
    assert (last.turns, last.tokens, last.cost_usd) == (used.turns, used.tokens, used.cost_usd)


@pytest.mark.guarantee("A7")
async def test_several_at_once_run_on_several_machines_each_on_its_own_part(postgres_url: str) -> None:
    cast = Cast(questions=("One.", "Two.", "Three."))
    async with (
        machine(postgres_url, cast) as here,
        working(postgres_url, cast, concurrency=1),
        working(postgres_url, cast, concurrency=1),
    ):
        done = await here.runner.run(cast.boss(), "Go.", run_id="r")
        children = [await here.require_ended(f"r.{number}") for number in (1, 2, 3)]
    assert cast.outcomes == [Completed(answer="It is so.")] * 3
    assert {of(child, RunStarted)[0].question for child in children} == {"One.", "Two.", "Three."}
    assert len(of(done, ChildSettled)) == 3
    assert done.usage.turns == 2 + 3 * 3
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A6", "A7")
async def test_all_limits_above_are_carved_and_the_sub_agent_cannot_be_granted_more(
    postgres_url: str,
) -> None:
    """What it has no limit of its own for cannot be drawn from its parent: that is on another machine."""
    above = Budget(
        turns=20, tokens=100_000, cost_usd="0.50", seconds=30, parallel_tools=3, tool_calls_per_turn=4
    )
    cast = Cast(holds=True, carved=Budget(turns=6, parallel_tools=9), boss_budget=above)
    async with machine(postgres_url, cast) as here, working(postgres_url, cast) as there:
        run_id = await here.runner.start(cast.boss(), "Go.", run_id="r")
        await cast.reading.wait()
        budget = of(await here.facts("r.1"), RunStarted)[0].config.budget
        with pytest.raises(GrantRefusedError):
            await there.runner.grant("r.1", Grant(turns=5, by="ada", why="more"))
        cast.let_go.set()
        done = await here.runner.wait(run_id)
    [opened], [reserved] = of(done, ScopeOpened), [r for r in of(done, CallReserved) if r.scope != "run"]
    assert (budget.turns, budget.parallel_tools, budget.tool_calls_per_turn) == (6, 3, 4)
    assert budget.tokens is not None
    assert 50_000 < budget.tokens < 100_000
    assert budget.cost_usd is not None
    assert Decimal("0.3") < budget.cost_usd < Decimal("0.5")
    assert budget.seconds is not None
    assert budget.seconds < 30
    assert replace(opened.budget, grant_cap=0.0) == budget
    assert (reserved.amounts.tokens, reserved.amounts.cost_usd) == (budget.tokens, budget.cost_usd)
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7")
async def test_a_sub_agent_is_held_to_its_part_and_the_scope_ends_as_it_did(postgres_url: str) -> None:
    cast = Cast(reads=99, carved=Budget(turns=4))
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        done = await here.runner.run(cast.boss(), "Go.", run_id="r")
        child = await here.require_ended("r.1")
    [outcome], [ended] = cast.outcomes, of(done, ScopeEnded)
    assert isinstance(outcome, Forced)
    assert outcome.reason.rule is StopRule.TURNS
    assert ended.outcome == outcome
    assert summarise(child).usage.turns == of(done, ChildSettled)[0].turns == 4
    assert done.outcome == Completed(answer="All read.")
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7")
async def test_with_too_little_left_it_is_refused_and_says_so(postgres_url: str) -> None:
    cast = Cast(questions=("One.", "Two."), carved=Budget(turns=2))
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        done = await here.runner.run(cast.boss(), "Go.", run_id="r")
    assert len(cast.outcomes) == 1, "the first was given all tokens, for it has no limit of its own on them"
    texts = [finished.result for finished in of(done, ToolFinished)]
    assert any("no tokens left to give to a sub-agent elsewhere" in text for text in texts)
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A10", "A7")
async def test_a_cost_that_nobody_knows_there_is_not_known_here(postgres_url: str) -> None:
    cast = Cast(price=None, carved=Budget(turns=6))
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        done = await here.runner.run(cast.boss(), "Go.", run_id="r")
        listed = await here.store.run("r")
    assert of(done, ChildSettled)[0].unknown_cost_calls == 3
    assert done.usage.unknown_cost_calls == 2 + 3
    assert done.usage.cost_usd is listed.cost_usd is burndown(done.facts).points[-1].cost_usd is None


async def test_an_agent_that_nobody_else_can_make_runs_here(postgres_url: str) -> None:
    class OfOnesOwn(Cast):
        def agent_of(self, started: RunStarted) -> Agent | None:
            return None if started.agent == "reader" else super().agent_of(started)

    cast = OfOnesOwn()
    async with machine(postgres_url, cast) as here:
        done = await here.runner.run(cast.boss(), "Go.")
    assert cast.outcomes == [Completed(answer="It is so.")]
    assert not of(done, ChildHandedOut)


@pytest.mark.guarantee("D10", "A7")
async def test_cancelling_a_run_ends_its_sub_agent_elsewhere_and_settles_what_that_has_used(
    postgres_url: str,
) -> None:
    cast = Cast(holds=True)
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        run_id = await here.runner.start(cast.boss(), "Go.", run_id="r")
        await cast.reading.wait()
        assert await here.runner.cancel(run_id, by="ada")
        done = await here.runner.wait(run_id)
        child = await here.require_ended("r.1")
    assert isinstance(done.outcome, Cancelled)
    [settled], [ended] = of(done, ChildSettled), of(done, ScopeEnded)
    assert not settled.is_estimate
    assert settled.turns == summarise(child).usage.turns <= 2
    assert ended.outcome == Cancelled(by="the run above it")
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7", "A11")
async def test_a_tool_that_is_out_of_time_has_its_sub_agent_ended_and_the_run_goes_on(
    postgres_url: str,
) -> None:
    cast = Cast(holds=True, ask_timeout_s=1.5, asks_again=False)
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        done = await here.runner.run(cast.boss(), "Go.", run_id="r")
        await here.require_ended("r.1")
    assert done.outcome == Completed(answer="All read.")
    [settled] = of(done, ChildSettled)
    assert not settled.is_estimate
    assert done.usage.turns == 2 + settled.turns
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7")
async def test_a_sub_agent_that_would_not_end_in_time_counts_as_all_that_it_may_use(
    postgres_url: str,
) -> None:
    """Nobody works on the queue of the reader, and whoever wrote its record seems to be alive."""
    cast = Cast(boss_budget=Budget(turns=20, tokens=100_000, seconds=2))
    async with machine(postgres_url, cast) as here, machine(postgres_url, cast) as other:

        async def begun() -> bool:
            return bool(await here.store.runs(agent="reader"))

        running = asyncio.create_task(here.runner.run(cast.boss(), "Go.", run_id="r"))
        await until(begun)
        facts = await here.facts("r.1")
        taken = replace(facts[-1], seq=len(facts), payload=RunTaken(owner=other.runner.owner))
        await here.store.append([taken], owner=other.runner.owner)
        here.children.patience_s = 0.05
        done = await running
    [settled] = of(done, ChildSettled)
    assert (settled.is_estimate, settled.turns, settled.input_tokens) == (True, 6, 20_000)
    assert done.audit(), str(done.audit())


async def test_a_worker_whose_runs_all_wait_for_sub_agents_drives_those_itself(postgres_url: str) -> None:
    cast = Cast(questions=("One.", "Two."))
    async with working(postgres_url, cast, concurrency=1, patience_s=0.2) as only:
        dispatcher = Dispatcher(only.store, only.engine, clock=SystemClock(), agent_of=cast.agent_of)
        async with asyncio.timeout(20):
            done = await dispatcher.run(cast.boss(), "Go.", run_id="r")
        children = [await only.require_ended(f"r.{number}") for number in (1, 2)]
        assert await only.engine.handed("r.1") is None
    assert done.outcome == Completed(answer="All read.")
    assert {of(child, RunTaken)[0].owner for child in children} == {only.runner.owner}
    assert done.audit(), str(done.audit())


async def test_the_run_of_somebody_else_with_the_same_name_is_left_alone(postgres_url: str) -> None:
    cast = Cast()
    async with machine(postgres_url, cast) as here, machine(postgres_url, Cast(holds=True)) as other:
        theirs = replace(cast.reader(), name="theirs")
        await other.runner.run(theirs, "Mine.", run_id="r.1")
        before = len(await here.facts("r.1"))
        done = await here.runner.run(cast.boss(), "Go.", run_id="r")
        assert len(await here.facts("r.1")) == before
    assert cast.outcomes == []
    [settled] = of(done, ChildSettled)
    assert (settled.turns, settled.model_calls, settled.is_estimate) == (0, 0, False)
    assert done.outcome == Completed(answer="All read.")
    assert done.audit(), str(done.audit())


async def test_a_runner_without_a_queue_hands_out_nothing(postgres_url: str) -> None:
    cast = Cast()
    async with machine(postgres_url, cast) as here:
        plain = Runner(here.store, clock=SystemClock(), agent_of=cast.agent_of)
        done = await plain.run(cast.boss(), "Go.")
        assert not of(done, ChildHandedOut)
        assert cast.outcomes == [Completed(answer="It is so.")]
        assert plain.elsewhere is not None
        child = Child(run_id="r.1", parent="r", scope="run/reader-1", agent="reader")
        with pytest.raises(RunStateError, match="no queue of runs here"):
            await plain.elsewhere.start(child, cast.reader())
