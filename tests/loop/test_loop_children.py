"""Sub-agents: a budget carved from what is left, refunded, and bound by the limits above (A7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from loop_words import AttentiveModel, agent, of, results, run, runner, submit_tool

from endstop.errors import ModelAccessError
from endstop.kernel.budget import Budget
from endstop.kernel.observation import CallSettled, ScopeEnded, ScopeOpened, TurnStarted
from endstop.kernel.outcome import Cancelled, Completed, Failed, Forced, Outcome, StopRule
from endstop.loop import Agent, Delta
from endstop.ports import Tool, ToolContext
from endstop.testing import MemoryStore, Runaway, ScriptedModel, calls, echo_tool, fails, reply, says
from endstop.testing.adversaries.calls import OnlyProse
from endstop.testing.adversaries.streams import Hangs
from endstop.tools import tool


def delegate_to(child: Agent, outcomes: list[Outcome], **options: Any) -> Tool:
    @tool
    async def delegate(context: ToolContext, number: int = 0) -> str:
        assert context.run_child is not None
        outcomes.append(await context.run_child(child, "Dig here.", **options))
        return str(outcomes[-1])

    return delegate


@pytest.mark.guarantee("A7")
async def test_a_child_answers_on_a_part_of_the_budget_and_the_rest_flows_back() -> None:
    outcomes: list[Outcome] = []
    budget = Budget(turns=10, tokens=20_000)
    done = await run(
        agent(
            ScriptedModel(calls("delegate"), "All done."),
            delegate_to(agent(ScriptedModel("Found it.")), outcomes, budget=Budget(turns=4, tokens=5_000)),
            budget=budget,
        )
    )
    assert outcomes == [Completed(answer="Found it.")]
    [opened], [ended] = of(done.facts, ScopeOpened), of(done.facts, ScopeEnded)
    assert opened.scope == ended.scope == "run/agent-1"
    assert (opened.parent, opened.budget.turns) == ("run", 4)
    spent = sum(each.input_tokens + each.output_tokens for each in of(done.facts, CallSettled))
    assert done.usage.tokens == spent < 1_000
    assert done.usage.turns == 3
    assert done.outcome == Completed(answer="All done.")


@pytest.mark.guarantee("A7")
async def test_the_parents_limit_binds_a_child_that_asks_for_more() -> None:
    outcomes: list[Outcome] = []
    done = await run(
        agent(
            ScriptedModel(calls("delegate"), "All done."),
            delegate_to(agent(Runaway(), echo_tool()), outcomes, budget=Budget(turns=1_000)),
            budget=Budget(turns=6),
        )
    )
    [child] = outcomes
    assert isinstance(child, Completed)
    assert child.warnings
    assert sum(1 for _ in of(done.facts, TurnStarted)) <= 6
    assert done.answer == "All done."


@pytest.mark.guarantee("A7")
async def test_a_child_without_a_limit_of_its_own_draws_on_its_parent_but_not_on_its_last_turn() -> None:
    outcomes: list[Outcome] = []
    child = agent(Runaway(), echo_tool())
    done = await run(
        agent(
            ScriptedModel(calls("delegate"), "All done."),
            delegate_to(child, outcomes, budget=Budget(seconds=20)),
            budget=Budget(turns=6),
        )
    )
    [ended] = outcomes
    assert isinstance(ended, Forced)
    assert ended.reason.rule is StopRule.TURNS
    assert len(of(done.facts, TurnStarted)) == 6
    assert done.answer == "All done."


@pytest.mark.guarantee("A7", "A11")
async def test_the_parents_time_cuts_a_child_that_hangs() -> None:
    outcomes: list[Outcome] = []
    child = agent(Hangs(pieces=2), budget=Budget(seconds=50))
    done = await run(
        agent(ScriptedModel(calls("delegate")), delegate_to(child, outcomes), budget=Budget(seconds=0.3))
    )
    assert done.usage.seconds < 0.8
    assert isinstance(done.outcome, Forced)
    assert done.outcome.reason.rule is StopRule.TIME
    assert of(done.facts, ScopeEnded)


@pytest.mark.guarantee("A7")
async def test_children_at_once_share_what_is_left_of_their_parents_turns() -> None:
    outcomes: list[Outcome] = []
    child = agent(Runaway(delay_s=0.002), echo_tool())
    both = reply(calls=[calls("delegate", number=1), calls("delegate", number=2)])
    done = await run(
        agent(
            ScriptedModel(both, "All done."),
            delegate_to(child, outcomes, budget=Budget(seconds=20)),
            budget=Budget(turns=7),
        )
    )
    assert len(of(done.facts, TurnStarted)) <= 7
    assert all(isinstance(one, Forced | Completed) for one in outcomes), outcomes
    assert isinstance(done.outcome, Completed)


@pytest.mark.guarantee("A7")
async def test_with_nothing_left_to_carve_a_child_is_refused_and_the_run_goes_on() -> None:
    outcomes: list[Outcome] = []
    child = agent(ScriptedModel("never asked"))
    done = await run(
        agent(
            ScriptedModel(calls("delegate"), "Without it, then."),
            delegate_to(child, outcomes, budget=Budget(turns=1)),
            budget=Budget(turns=2),
        )
    )
    assert outcomes == []
    [(status, text)] = results(done)
    assert status == "failed"
    assert "has no turns left to give" in text
    assert done.answer == "Without it, then."


@pytest.mark.guarantee("A7", "D1")
async def test_a_child_with_a_terminal_tool_of_its_own_is_told_of_that_one() -> None:
    outcomes: list[Outcome] = []
    model = AttentiveModel(calls("echo", page=1), calls("hand_in", page=2))
    child = agent(model, echo_tool(), terminal=submit_tool("hand_in"))
    await run(
        agent(
            ScriptedModel(calls("delegate"), "All done."),
            delegate_to(child, outcomes, budget=Budget(turns=2)),
            budget=Budget(turns=9),
        )
    )
    assert "Only hand_in is available" in model.texts()[-1]
    assert isinstance(outcomes[0], Completed)


async def test_a_child_without_terminal_tool_is_not_told_of_its_parents() -> None:
    outcomes: list[Outcome] = []
    model = AttentiveModel(calls("echo", page=1), says("Short answer."))
    done = await run(
        agent(
            ScriptedModel(calls("delegate"), calls("submit", ok=True)),
            delegate_to(agent(model, echo_tool()), outcomes, budget=Budget(turns=2)),
            terminal=submit_tool(),
            budget=Budget(turns=9),
        )
    )
    assert "No tools are available" in model.texts()[-1]
    assert isinstance(outcomes[0], Completed)
    assert done.result == {"ok": True}


async def test_a_child_that_must_use_tools_and_only_talks_is_reminded_and_ends() -> None:
    outcomes: list[Outcome] = []
    child = agent(OnlyProse(), echo_tool(), terminal=submit_tool())
    await run(
        agent(
            ScriptedModel(calls("delegate"), "All done."),
            delegate_to(child, outcomes, budget=Budget(turns=8)),
            budget=Budget(turns=20),
        )
    )
    [ended] = outcomes
    assert isinstance(ended, Failed)
    assert ended.message == "No tool was called in 2 turns in a row, though this agent must use tools."
    assert "I will now look into" in ended.answer


async def test_a_child_whose_model_fails_is_a_failed_outcome_and_no_failure_of_the_run() -> None:
    outcomes: list[Outcome] = []
    child = agent(ScriptedModel(fails(ModelAccessError("no key"))))
    done = await run(agent(ScriptedModel(calls("delegate"), "Without it."), delegate_to(child, outcomes)))
    assert isinstance(outcomes[0], Failed)
    assert done.answer == "Without it."


async def test_a_child_named_twice_at_once_is_refused_the_second_time() -> None:
    outcomes: list[Outcome] = []
    child = agent(ScriptedModel("Found.", delay_s=0.02))
    both = reply(calls=[calls("delegate", number=1), calls("delegate", number=2)])
    done = await run(
        agent(
            ScriptedModel(both, "All done."),
            delegate_to(child, outcomes, budget=Budget(turns=2), name="digger"),
        )
    )
    assert sorted(status for status, _ in results(done)) == ["executed", "failed"]
    assert done.answer == "All done."


@pytest.mark.guarantee("D10", "A7")
async def test_cancelling_a_run_ends_its_child_with_its_text_kept() -> None:
    outcomes: list[Outcome] = []
    child = agent(Hangs(pieces=2), budget=Budget(seconds=50))
    home = runner()
    shown = asyncio.Event()

    def listen(delta: Delta) -> None:
        shown.set()

    above = agent(ScriptedModel(calls("delegate")), delegate_to(child, outcomes))
    run_id = await home.start(above, "Go.", listener=listen)
    await shown.wait()
    assert await home.cancel(run_id, by="me")
    done = await home.wait(run_id)
    assert isinstance(done.outcome, Cancelled)
    assert of(done.facts, ScopeEnded)
    assert done.audit(), str(done.audit())


@pytest.mark.guarantee("H5", "A7")
@pytest.mark.parametrize("is_taken_over", [True, False])
async def test_a_sub_agent_under_way_when_its_process_stops_is_closed_and_the_run_goes_on(
    is_taken_over: bool,
) -> None:
    outcomes: list[Outcome] = []
    store = MemoryStore()
    grandchild = agent(Hangs(pieces=2), budget=Budget(seconds=50))
    child = agent(ScriptedModel(calls("delegate")), delegate_to(grandchild, outcomes))
    above = agent(ScriptedModel(calls("delegate")), delegate_to(child, outcomes))
    shown = asyncio.Event()

    def listen(delta: Delta) -> None:
        shown.set()

    first = asyncio.create_task(runner(store).run(above, "Go.", run_id="r", listener=listen))
    await shown.wait()
    if not is_taken_over:
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    done = await runner(store).resume("r", agent=agent(ScriptedModel("On.")), takes_over=is_taken_over)
    assert done.outcome == Completed(answer="On.")
    assert len(of(done.facts, ScopeEnded)) == 2
    assert done.audit(), str(done.audit())
    if is_taken_over:
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert len(await store.record("r")) == len(done.facts)


async def test_a_sub_agent_that_its_tool_did_not_wait_for_ends_with_the_run() -> None:
    strays: list[asyncio.Task[Outcome]] = []
    child = agent(Hangs(pieces=2), budget=Budget(seconds=50))

    @tool
    async def scatter(context: ToolContext) -> str:
        assert context.run_child is not None
        strays.append(asyncio.ensure_future(context.run_child(child, "Dig.")))
        await asyncio.sleep(0.01)
        return "It will see to itself."

    done = await run(agent(ScriptedModel(calls("scatter"), "Done."), scatter))
    assert done.outcome == Completed(answer="Done.")
    assert len(of(done.facts, ScopeEnded)) == 1
    await asyncio.wait(strays, timeout=1)
    assert all(stray.done() and stray.exception() for stray in strays)
