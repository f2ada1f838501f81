"""Sub-agents elsewhere when processes die: never forgotten, never counted twice (A7, H5)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from children_cast import Cast, Machine, machine, of, until, working

from endstop.errors import RecordTakenError, RunStateError, StoreError, UnknownRunError
from endstop.events.facts import ChildHandedOut, RunDelegated, RunTaken
from endstop.events.summary import summarise
from endstop.guard.clock import SystemClock
from endstop.kernel.budget import Budget
from endstop.kernel.observation import CallStatus, ChildSettled, RunEnded, ScopeEnded, ToolFinished
from endstop.kernel.outcome import Cancelled, Completed, Forced, Outcome
from endstop.loop import Agent
from endstop.loop.elsewhere import Child, handed_out
from endstop.ports import ToolContext
from endstop.runner import Run, Runner
from endstop.runner.opening import reopened
from endstop.testing import ScriptedModel, calls
from endstop.tools import tool

pytestmark = pytest.mark.timeout(90)


async def begin(here: Machine, cast: Cast) -> asyncio.Task[Run]:
    """A run whose sub-agent is under way elsewhere."""
    first = asyncio.create_task(here.runner.run(cast.boss(), "Go.", run_id="r"))
    await cast.reading.wait()
    return first


async def give_up(first: asyncio.Task[Run]) -> None:
    first.cancel()
    with pytest.raises((asyncio.CancelledError, StoreError)):
        await first


@pytest.mark.thorough
@pytest.mark.guarantee("A7", "H5")
@pytest.mark.parametrize("is_alive", [False, True], ids=["dead", "only thought dead"])
async def test_whoever_goes_on_with_a_run_and_asks_the_same_again_goes_on_with_its_sub_agent(
    postgres_url: str, is_alive: bool
) -> None:
    cast = Cast(holds=True)
    async with (
        machine(postgres_url, cast) as here,
        machine(postgres_url, cast) as there,
        working(postgres_url, cast),
    ):
        first = await begin(here, cast)
        if not is_alive:
            await give_up(first)
        second = asyncio.create_task(there.runner.resume("r", takes_over=True))
        await until(lambda: _is_asked_again(there))
        cast.let_go.set()
        done = await second
        if is_alive:
            await give_up(first)
        child = await there.require_ended("r.1")
        with pytest.raises(UnknownRunError):
            await there.facts("r.2")
    assert done.outcome == Completed(answer="All read.")
    assert [finished.status for finished in of(done, ToolFinished)][-1] is CallStatus.EXECUTED
    [settled] = of(done, ChildSettled)
    assert len(of(done, ChildHandedOut)) == 1
    assert settled.input_tokens + settled.output_tokens == summarise(child).usage.tokens
    assert of(child, RunEnded)[0].outcome == Completed(answer="It is so.")
    assert done.audit(), str(done.audit())


async def _is_asked_again(there: Machine) -> bool:
    return sum(fact.type == "tool.called" for fact in await there.facts("r")) == 2


@pytest.mark.guarantee("A7", "H5")
async def test_a_sub_agent_that_nobody_comes_back_for_is_ended_and_settled_at_what_it_used(
    postgres_url: str,
) -> None:
    cast = Cast(holds=True, asks_again=False)
    async with (
        machine(postgres_url, cast) as here,
        machine(postgres_url, cast) as there,
        working(postgres_url, cast),
    ):
        await give_up(await begin(here, cast))
        done = await there.runner.resume("r", takes_over=True)
        child = await there.require_ended("r.1")
    assert done.outcome == Completed(answer="All read.")
    [settled], [ended] = of(done, ChildSettled), of(done, ScopeEnded)
    assert ended.outcome == Cancelled(by="the run above it")
    assert not settled.is_estimate
    assert settled.turns == summarise(child).usage.turns
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7", "H5", "D10")
async def test_a_runner_without_a_queue_ends_what_another_left_behind(postgres_url: str) -> None:
    cast = Cast(holds=True, asks_again=False)
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        await give_up(await begin(here, cast))
        plain = Runner(here.store, clock=SystemClock(), agent_of=cast.agent_of)
        done = await plain.resume("r")
        await here.require_ended("r.1")
    assert done.outcome == Completed(answer="All read.")
    assert not of(done, ChildSettled)[0].is_estimate
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7", "H5", "D10")
async def test_a_run_that_is_cancelled_after_its_process_died_takes_its_sub_agent_with_it(
    postgres_url: str,
) -> None:
    cast = Cast(holds=True)
    async with (
        machine(postgres_url, cast) as here,
        machine(postgres_url, cast) as there,
        working(postgres_url, cast),
    ):
        await give_up(await begin(here, cast))
        assert await there.runner.cancel("r", by="ada")
        above, child = await there.require_ended("r"), await there.require_ended("r.1")
    assert of(above, RunEnded)[0].outcome == Cancelled(by="ada")
    assert of(child, RunEnded)[0].outcome == Cancelled(by="the run above it")
    assert of(above, ChildSettled)[0].turns == summarise(child).usage.turns


@pytest.mark.guarantee("A7", "H5", "D10")
async def test_a_process_that_is_told_to_end_leaves_its_sub_agents_to_the_next(postgres_url: str) -> None:
    cast = Cast(holds=True)
    async with (
        machine(postgres_url, cast) as here,
        machine(postgres_url, cast) as there,
        working(postgres_url, cast),
    ):
        first = await begin(here, cast)
        await here.runner.shutdown(seconds=0.1)
        left = await first
        assert left.outcome is None
        assert not of(left, ChildSettled)
        second = asyncio.create_task(there.runner.resume("r"))
        await until(lambda: _is_asked_again(there))
        cast.let_go.set()
        done = await second
        await there.require_ended("r.1")
    assert cast.outcomes == [Completed(answer="It is so.")]
    assert len(of(done, ChildHandedOut)) == len(of(done, ChildSettled)) == 1
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A6", "A7", "H5")
async def test_a_sub_agent_that_was_never_begun_costs_nothing_and_cannot_be_begun_any_more(
    postgres_url: str,
) -> None:
    """The process died, or stood still, right after it had put on record what it was about to do."""
    cast = Cast(asks_again=False)
    async with machine(postgres_url, cast) as here, machine(postgres_url, cast) as there:
        about_to = asyncio.Event()
        begins = here.children.start
        begun: list[tuple[Child, Agent]] = []

        async def stand_still(child: Child, agent: Agent) -> None:
            begun.append((child, agent))
            about_to.set()
            await asyncio.Event().wait()

        here.children.start = stand_still  # type: ignore[method-assign]
        first = asyncio.create_task(here.runner.run(cast.boss(), "Go.", run_id="r"))
        await about_to.wait()
        done = await there.runner.resume("r", takes_over=True)
        with pytest.raises(RecordTakenError):
            await begins(*begun[0])
        await give_up(first)
        child = await there.require_ended("r.1")
    [settled] = of(done, ChildSettled)
    assert (settled.turns, settled.model_calls, settled.is_estimate) == (0, 0, False)
    assert of(child, RunDelegated) == [RunDelegated(parent="r", parent_scope=settled.scope)]
    assert done.outcome == Completed(answer="All read.")
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7", "H5")
async def test_a_process_that_was_thought_dead_cannot_end_the_sub_agents_of_the_one_that_went_on(
    postgres_url: str,
) -> None:
    cast = Cast(holds=True)
    async with (
        machine(postgres_url, cast) as here,
        machine(postgres_url, cast) as there,
        working(postgres_url, cast),
    ):
        first = await begin(here, cast)
        second = asyncio.create_task(there.runner.resume("r", takes_over=True))
        await until(lambda: _is_asked_again(there))
        child = next(iter(handed_out(reopened(await there.facts("r"), cast.boss())).values()))
        with pytest.raises(RunStateError, match="worked on by another process"):
            await here.children.recall(child)
        cast.let_go.set()
        done = await second
        await give_up(first)
    assert cast.outcomes[0] == Completed(answer="It is so.")
    assert done.audit(), str(done.audit())


@pytest.mark.thorough
@pytest.mark.guarantee("A7", "H5")
async def test_a_sub_agent_whose_worker_is_killed_is_gone_on_with_by_another(postgres_url: str) -> None:
    cast = Cast(reads=8, carved=Budget(turns=20, tokens=20_000))
    async with machine(postgres_url, cast) as here:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("children_worker.py")),
            *(postgres_url, "0.3", "8"),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            assert await process.stdout.readline() == b"working\n"
            run_id = await here.runner.start(cast.boss(), "Go.", run_id="r")
            await until(lambda: _has_looked(here))
        finally:
            process.kill()
            await process.wait()
        async with working(postgres_url, cast):
            done = await here.runner.wait(run_id)
            child = await here.require_ended("r.1")
    assert cast.outcomes == [Completed(answer="It is so.")]
    assert len(of(child, RunTaken)) == 2
    [settled] = of(done, ChildSettled)
    assert settled.input_tokens + settled.output_tokens == summarise(child).usage.tokens
    assert done.audit(), str(done.audit())


async def _has_looked(here: Machine) -> bool:
    try:
        return sum(fact.type == "tool.finished" for fact in await here.facts("r.1")) >= 2
    except UnknownRunError:
        return False


def top(cast: Cast, model: ScriptedModel, *, timeout_s: float | None = None) -> Agent:
    """Has a sub-agent here that has one elsewhere."""
    middle = Agent(name="middle", model=ScriptedModel(calls("ask", question="Read.")), tools=(cast.ask(),))

    @tool(timeout_s=timeout_s)
    async def pass_on(context: ToolContext) -> str:
        assert context.run_child is not None
        return str(await context.run_child(middle, "Have it read."))

    return Agent(name="top", model=model, tools=(pass_on,))


@pytest.mark.thorough
@pytest.mark.guarantee("A7", "A11")
async def test_a_sub_agent_of_a_sub_agent_that_is_cut_short_is_ended_and_settled(postgres_url: str) -> None:
    cast = Cast(holds=True)
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        above = top(cast, ScriptedModel(calls("pass_on"), "Without it."), timeout_s=1.5)
        done = await here.runner.run(above, "Go.", run_id="r")
        child = await here.require_ended("r.1")
    assert done.outcome == Completed(answer="Without it.")
    [settled] = of(done, ChildSettled)
    assert (settled.turns, settled.is_estimate) == (summarise(child).usage.turns, False)
    assert len(of(done, ScopeEnded)) == 2
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7", "H5")
async def test_a_sub_agent_of_a_sub_agent_is_found_after_a_crash_and_what_is_between_ends(
    postgres_url: str,
) -> None:
    cast = Cast(holds=True)

    async with (
        machine(postgres_url, cast) as here,
        machine(postgres_url, cast) as there,
        working(postgres_url, cast),
    ):
        above = top(cast, ScriptedModel(calls("pass_on")))
        first = asyncio.create_task(here.runner.run(above, "Go.", run_id="r"))
        await cast.reading.wait()
        await give_up(first)
        done = await there.runner.resume("r", agent=top(cast, ScriptedModel("Without it.")), takes_over=True)
        child = await there.require_ended("r.1")
    assert done.outcome == Completed(answer="Without it.")
    [settled] = of(done, ChildSettled)
    assert settled.turns == summarise(child).usage.turns
    inner, outer = of(done, ScopeEnded)
    assert inner.scope.startswith(outer.scope)
    assert isinstance(outer.outcome, Forced)
    assert done.audit(), str(done.audit())


async def test_a_sub_agent_that_its_tool_did_not_wait_for_ends_with_the_run(postgres_url: str) -> None:
    cast = Cast(holds=True)
    strays: list[asyncio.Task[Outcome]] = []

    @tool
    async def scatter(context: ToolContext) -> str:
        assert context.run_child is not None
        stray = context.run_child(cast.reader(), "Read.", budget=cast.carved, elsewhere=True)
        strays.append(asyncio.ensure_future(stray))
        await cast.reading.wait()
        return "It will see to itself."

    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        scatterer = Agent(name="boss", model=ScriptedModel(calls("scatter"), "Done."), tools=(scatter,))
        done = await here.runner.run(scatterer, "Go.", run_id="r")
        await here.require_ended("r.1")
        [came_of_it] = await asyncio.gather(*strays, return_exceptions=True)
    assert isinstance(came_of_it, Cancelled | RunStateError), "whichever was first, nobody waits any more"
    assert done.outcome == Completed(answer="Done.")
    assert len(of(done, ChildSettled)) == 1
    assert done.audit(), str(done.audit())


@pytest.mark.thorough
async def test_a_sub_agent_that_would_wait_for_a_person_is_ended(postgres_url: str) -> None:
    class Asking(Cast):
        def reader(self, **parts: Any) -> Agent:
            asks = ScriptedModel(calls("await_user", message="Which?"), "Never said.")
            return Agent(name="reader", model=asks, awaits_user=True, **parts)

    cast = Asking()
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        done = await here.runner.run(cast.boss(), "Go.", run_id="r")
        await here.require_ended("r.1")
    assert cast.outcomes == [Cancelled(by="the run above it")]
    assert done.outcome == Completed(answer="All read.")
