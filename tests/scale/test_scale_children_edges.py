"""Sub-agents elsewhere, where several things go wrong at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import psycopg
import pytest
from children_cast import Cast, Machine, machine, of, until, working

from endstop.errors import StoreError, UnknownRunError
from endstop.events.facts import ChildHandedOut, Note, RunStarted, RunTaken
from endstop.kernel.budget import Budget
from endstop.kernel.observation import ChildSettled, ScopeEnded, ToolCalled
from endstop.kernel.outcome import Completed, Ending, Outcome, StopReason
from endstop.loop import Agent
from endstop.loop.conducting import Stage
from endstop.ports import ToolContext
from endstop.testing import ScriptedModel, calls, reply
from endstop.tools import tool

pytestmark = [pytest.mark.timeout(90), pytest.mark.thorough]


async def has_begun(here: Machine, run_id: str) -> bool:
    try:
        return any(fact.type == "tool.called" for fact in await here.facts(run_id))
    except UnknownRunError:
        return False


async def test_without_any_limit_on_time_it_has_none_either(postgres_url: str) -> None:
    cast = Cast(boss_budget=Budget(turns=20))
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        done = await here.runner.run(cast.boss(), "Go.", run_id="r")
        child = await here.require_ended("r.1")
    budget = of(child, RunStarted)[0].config.budget
    assert (budget.turns, budget.tokens, budget.seconds, budget.cost_usd) == (6, 20_000, None, None)
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A11", "A7")
async def test_a_tool_that_takes_no_cancellation_does_not_keep_its_sub_agent(postgres_url: str) -> None:
    cast = Cast(holds=True)
    strays: list[asyncio.Task[Outcome]] = []

    @tool(timeout_s=1.0)
    async def stubborn(context: ToolContext) -> str:
        assert context.run_child is not None
        stray = context.run_child(cast.reader(), "Read.", budget=cast.carved, elsewhere=True)
        strays.append(asyncio.ensure_future(stray))
        for _ in range(30):
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                continue
        return "At last."

    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        boss = Agent(name="boss", model=ScriptedModel(calls("stubborn"), "Done."), tools=(stubborn,))
        done = await here.runner.run(boss, "Go.", run_id="r")
        await here.require_ended("r.1")
        await asyncio.gather(*strays, return_exceptions=True)
    assert done.outcome == Completed(answer="Done.")
    assert len(of(done, ChildSettled)) == 1
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7", "H5")
async def test_a_process_thought_dead_whose_tool_runs_out_of_time_does_not_end_what_another_waits_for(
    postgres_url: str,
) -> None:
    slow, cast = Cast(holds=True, ask_timeout_s=2.0), Cast(holds=True)
    slow.reading, slow.let_go = cast.reading, cast.let_go
    async with (
        machine(postgres_url, slow) as here,
        machine(postgres_url, cast) as there,
        working(postgres_url, cast),
    ):
        first = asyncio.create_task(here.runner.run(slow.boss(), "Go.", run_id="r"))
        await cast.reading.wait()
        second = asyncio.create_task(there.runner.resume("r", takes_over=True))
        with pytest.raises(StoreError):
            await first
        assert not second.done()
        cast.let_go.set()
        done = await second
        await there.require_ended("r.1")
    assert cast.outcomes == [Completed(answer="It is so.")]
    assert done.audit(), str(done.audit())


class Pipeline:
    """Takes a run through parts: no part of it is a run before it has begun."""

    def opening(self, run_id: str, budget: Budget) -> Iterable[Note]:
        raise AssertionError("it must not be begun to find out whether it can be handed out")

    async def conduct(self, stage: Stage) -> Ending:
        raise AssertionError("it is not run")

    async def conclude(self, stage: Stage, reason: StopReason) -> Ending:
        raise AssertionError("it is not run")


async def test_a_pipeline_or_one_whose_maker_fails_is_not_taken(postgres_url: str) -> None:
    class Failing(Cast):
        def agent_of(self, started: RunStarted) -> Agent | None:
            raise ValueError("no such plug-in")

    async with machine(postgres_url, Cast()) as here, machine(postgres_url, Failing()) as there:
        assert here.children.takes(Cast().reader(), "Read.")
        assert not here.children.takes(Cast().reader(conducting=Pipeline()), "Read.")
        assert not there.children.takes(Cast().reader(), "Read.")


async def test_one_that_a_worker_has_taken_is_left_to_it(postgres_url: str) -> None:
    cast = Cast(look_s=0.4)
    async with machine(postgres_url, cast) as here, working(postgres_url, cast) as there:
        running = asyncio.create_task(here.runner.run(cast.boss(), "Go.", run_id="r"))
        await until(lambda: has_begun(here, "r.1"))
        here.children.patience_s = 0.05
        await running
        child = await here.require_ended("r.1")
    assert [taken.owner for taken in of(child, RunTaken)] == [there.runner.owner]


@pytest.mark.guarantee("A7", "H5", "D10")
async def test_one_that_is_driven_by_whoever_waits_for_it_goes_on_when_that_process_ends(
    postgres_url: str,
) -> None:
    cast = Cast(holds=True)
    async with machine(postgres_url, cast, patience_s=0.05) as here:
        first = asyncio.create_task(here.runner.run(cast.boss(), "Go.", run_id="r"))
        await until(lambda: has_begun(here, "r.1"))
        await here.runner.shutdown(seconds=0.1)
        assert (await first).outcome is None
        cast.let_go.set()
        async with machine(postgres_url, cast, patience_s=0.05) as there:
            done = await there.runner.resume("r")
            child = await there.require_ended("r.1")
    assert len(of(done, ChildHandedOut)) == len(of(done, ChildSettled)) == 1
    assert {taken.owner for taken in of(child, RunTaken)} == {here.runner.owner, there.runner.owner}
    assert cast.outcomes == [Completed(answer="It is so.")]
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7", "D10")
async def test_one_that_is_driven_by_whoever_waits_for_it_is_handed_back_while_that_process_ends(
    postgres_url: str,
) -> None:
    cast = Cast(look_s=0.3)
    async with machine(postgres_url, cast, patience_s=0.05) as here:
        first = asyncio.create_task(here.runner.run(cast.boss(), "Go.", run_id="r"))
        await until(lambda: has_begun(here, "r.1"))
        here.children.patience_s = 30.0
        ending = asyncio.create_task(here.runner.shutdown(seconds=20))
        async with working(postgres_url, cast) as there:
            assert (await first).outcome is None, "it had finished its turn, and left the next to another"
            await ending
            child = await there.require_ended("r.1")
    assert cast.outcomes == [Completed(answer="It is so.")]
    assert [taken.owner for taken in of(child, RunTaken)] == [here.runner.owner, there.runner.owner]


async def test_a_queue_that_is_gone_while_one_is_under_way_does_not_matter(postgres_url: str) -> None:
    cast = Cast(holds=True)
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        running = asyncio.create_task(here.runner.run(cast.boss(), "Go.", run_id="r"))
        await cast.reading.wait()
        here.children.patience_s = 0.05
        async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
            await connection.execute("ALTER TABLE procrastinate_jobs RENAME TO hidden_jobs")
            await connection.execute("ALTER TABLE endstop_handed RENAME TO hidden_handed")
            await asyncio.sleep(0.5)
            cast.let_go.set()
            done = await running
            await connection.execute("ALTER TABLE hidden_jobs RENAME TO procrastinate_jobs")
            await connection.execute("ALTER TABLE hidden_handed RENAME TO endstop_handed")
    assert cast.outcomes == [Completed(answer="It is so.")]
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("A7", "H5")
async def test_what_is_between_a_run_and_two_that_were_left_behind_ends_with_the_second(
    postgres_url: str,
) -> None:
    cast = Cast(holds=True)
    asks = reply(calls=[calls("ask", question="One."), calls("ask", question="Two.")])

    def top(*replies: object) -> Agent:
        middle = Agent(name="middle", model=ScriptedModel(asks), tools=(cast.ask(),))

        @tool
        async def pass_on(context: ToolContext) -> str:
            assert context.run_child is not None
            return str(await context.run_child(middle, "Have it read."))

        return Agent(name="top", model=ScriptedModel(*replies), tools=(pass_on,))  # type: ignore[arg-type]

    async with (
        machine(postgres_url, cast) as here,
        machine(postgres_url, cast) as there,
        working(postgres_url, cast),
    ):
        first = asyncio.create_task(here.runner.run(top(calls("pass_on")), "Go.", run_id="r"))
        for run_id in ("r.1", "r.2"):
            await until(lambda run_id=run_id: has_begun(here, run_id))
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        done = await there.runner.resume("r", agent=top("Without."), takes_over=True)
        for run_id in ("r.1", "r.2"):
            await there.require_ended(run_id)
    assert len(of(done, ChildSettled)) == 2
    assert [ended.scope for ended in of(done, ScopeEnded)][-1] == "run/middle-1"
    assert done.audit(), str(done.audit())


async def test_a_new_sub_agent_has_a_scope_of_its_own_beside_one_that_was_left_behind(
    postgres_url: str,
) -> None:
    cast = Cast(holds=True)
    async with machine(postgres_url, cast) as here, working(postgres_url, cast):
        first = asyncio.create_task(here.runner.run(cast.boss(), "Go.", run_id="r"))
        await cast.reading.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        cast.questions = ("Something else.",)
        second = asyncio.create_task(here.runner.resume("r"))
        await until(lambda: has_begun(here, "r.2"))
        cast.let_go.set()
        done = await second
        for run_id in ("r.1", "r.2"):
            await here.require_ended(run_id)
    assert [handed.scope for handed in of(done, ChildHandedOut)] == ["run/reader-1", "run/reader-2"]
    assert len(of(done, ChildSettled)) == 2
    assert [called.tool for called in of(done, ToolCalled)] == ["ask", "ask"]
    assert done.audit(), str(done.audit())
