"""A part of a tree on a share of the budget: held to it before anything is spent, and forgotten after it."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from oracle_words import ask, need_turn, of, oracle, tree_of

from endstop.kernel.budget import Budget
from endstop.kernel.observation import AssistantSaid, CallReserved, CallSettled, ToolFinished, TurnStarted
from endstop.ports import ToolResult
from endstop.runner import Run
from endstop.testing import ScriptedModel, calls, calls_many, echo_tool
from endstop.testing.echo import PlainTool
from endstop.tree.spec import TreeSpec


def shared(limits: str, *, after: str = 'BT.action("budget.force_completion")') -> TreeSpec:
    """A tree that takes turns on a share until it is used up, and then does something else."""
    return tree_of(
        f"""return BT.tree("own", {{ root = BT.sequence {{
             BT.always_succeed {{ BT.budget {{ {limits},
               BT.repeat_until {{ max = 50, fn = "run.must_stop", BT.sequence {{
                 BT.action("turn.take_turn"), BT.action("tools.run_tools"),
                 BT.action("turn.end_turn") }} }} }} }},
             {after} }} }})"""
    )


def reasons() -> list[str]:
    return [f"Step {number}. {need_turn(f'reason {number}')}" for number in range(60)]


async def run(tree: TreeSpec, model: ScriptedModel) -> Run:
    return await ask(oracle(model, echo_tool(), tree=tree, budget=Budget(turns=40, tokens=10**6, seconds=20)))


@pytest.mark.guarantee("E1", "A6")
async def test_a_share_of_turns_ends_its_part_of_the_tree() -> None:
    done = await run(shared("turns = 3"), ScriptedModel(*reasons()))
    assert len(of(done.facts, TurnStarted)) == 3
    assert not any(one.is_cut_off for one in of(done.facts, AssistantSaid))


@pytest.mark.guarantee("E1", "A6")
@pytest.mark.parametrize("share", [700, 1_500, 6_000])
async def test_no_call_is_reserved_beyond_a_share_of_tokens(share: int) -> None:
    done = await run(shared(f"tokens = {share}"), ScriptedModel(*reasons()))
    used = 0
    for reserved, settled in zip(of(done.facts, CallReserved), of(done.facts, CallSettled), strict=True):
        assert used + reserved.amounts.tokens <= share
        used += settled.input_tokens + settled.output_tokens
    assert used > 0


@pytest.mark.guarantee("E1", "A6")
async def test_no_call_is_reserved_beyond_a_share_of_money() -> None:
    done = await run(shared('cost_usd = "0.01"'), ScriptedModel(*reasons()))
    used = Decimal(0)
    for reserved, settled in zip(of(done.facts, CallReserved), of(done.facts, CallSettled), strict=True):
        assert used + reserved.amounts.cost_usd <= Decimal("0.01")
        used += settled.cost_usd or 0
    assert used > 0


@pytest.mark.guarantee("E1", "D9")
async def test_calls_beyond_a_share_of_tool_calls_are_answered_and_not_run() -> None:
    wanted = calls_many(*(calls("echo", text=str(number)) for number in range(5)))
    done = await run(shared("tool_calls = 3"), ScriptedModel(wanted))
    statuses = sorted(one.status.value for one in of(done.facts, ToolFinished))
    assert statuses == ["executed"] * 3 + ["skipped"] * 2


@pytest.mark.guarantee("E1")
async def test_after_its_share_a_run_replies_at_length_again() -> None:
    model = ScriptedModel(*reasons())
    await run(
        shared("tokens = 1500", after='BT.action("turn.take_turn"), BT.action("budget.force_completion")'),
        model,
    )
    lengths = [request.max_output_tokens for request in model.requests]
    assert lengths[0] < 1_500
    assert lengths[-1] == 4_096


@pytest.mark.guarantee("D9", "A14")
@pytest.mark.parametrize("wait_s", [0.0, 0.018, 0.019, 0.02, 0.021, 0.2])
async def test_tools_that_are_halted_as_they_end_have_one_result_each(wait_s: float) -> None:
    async def slow(_: str) -> ToolResult:
        await asyncio.sleep(wait_s)
        return ToolResult(text="Done.")

    tree = tree_of(
        """return BT.tree("own", { root = BT.sequence { BT.action("turn.take_turn"),
             BT.always_succeed { BT.timeout { seconds = 0.02, BT.action("tools.run_tools") } },
             BT.action("turn.end_turn"), BT.action("budget.force_completion") } })"""
    )
    wanted = calls_many(*(calls("slow", text=str(number)) for number in range(4)))
    agent = oracle(ScriptedModel(wanted), PlainTool("slow", slow, description="Takes a while."), tree=tree)
    done = await ask(agent)  # which audits it
    assert len(of(done.facts, ToolFinished)) == 4
