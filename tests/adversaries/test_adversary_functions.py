"""Plain functions that nobody should write, wrapped as users wrap theirs: the run ends in time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from adversary_runs import LATE_S, agent_of, endings, in_time, over_budget, recounted, unanswered
from leftovers import held, left_since, other_tasks

from endstop.kernel.budget import Budget
from endstop.kernel.outcome import Completed, Forced, StopRule
from endstop.testing import Runaway
from endstop.testing.bad_functions import (
    BAD_FUNCTIONS,
    block_for_ever,
    busy_loop,
    fork_and_hold_pipe,
)
from endstop.tools import tool

HANGING: dict[str, Callable[..., str]] = {
    each.__name__: each for each in (block_for_ever, busy_loop, fork_and_hold_pipe)
}
FAILING = ("fail_with_time_stamp", "raise_system_exit", "raise_keyboard_interrupt", "raise_generator_exit")
TALKING = ("return_50_mb", "return_odd_text")
LONG_ENOUGH_S = 1.0


def one_call(function: Callable[..., str], seconds: float) -> Callable[..., str]:
    """The function for a model that calls it with words of its own: as bad as before, but not for an hour."""

    def call(query: str) -> str:
        return function(seconds)

    call.__name__ = function.__name__
    return call


def any_call(function: Callable[[], str]) -> Callable[..., str]:
    def call(query: str) -> str:
        return function()

    call.__name__ = function.__name__
    return call


@pytest.mark.guarantee("A11", "A14", "D9")
@pytest.mark.parametrize(
    "budget",
    [Budget(seconds=0.3), Budget(seconds=0.3, turns=5, tokens=20_000, model_calls=5, cost_usd="0.1")],
    ids=["seconds", "mixed"],
)
@pytest.mark.parametrize("name", HANGING)
async def test_a_function_that_hangs_is_cut_off_in_time(name: str, budget: Budget, tmp_path: Path) -> None:
    before = held()

    def make_agent() -> Any:
        wrapped = tool(one_call(HANGING[name], LONG_ENOUGH_S))
        return agent_of(Runaway(tool=name), (wrapped,), budget)

    done = await in_time(make_agent, tmp_path)
    assert done.run.usage.seconds <= 0.3 + LATE_S
    assert isinstance(done.run.outcome, Forced | Completed)
    if isinstance(done.run.outcome, Forced):
        assert done.run.outcome.reason.rule is StopRule.TIME
    assert unanswered(done.record) == []
    assert endings(done.record) == [done.record[-1].seq]
    assert over_budget(recounted(done.record), budget) == []
    assert done.run.audit(), str(done.run.audit())
    assert other_tasks() == []
    assert left_since(before) == []


@pytest.mark.guarantee("A11", "B2")
@pytest.mark.parametrize("name", HANGING)
async def test_a_function_that_hangs_is_timed_out_and_three_times_are_the_error_limit(
    name: str, tmp_path: Path
) -> None:
    before = held()

    def make_agent() -> Any:
        wrapped = tool(timeout_s=0.05)(one_call(HANGING[name], LONG_ENOUGH_S))
        return agent_of(Runaway(tool=name), (wrapped,), Budget(turns=10, seconds=20))

    done = await in_time(make_agent, tmp_path)
    assert isinstance(done.run.outcome, Forced)
    assert done.run.outcome.reason.rule is StopRule.ERROR_LIMIT
    assert done.run.usage.turns == 3
    assert done.run.audit(), str(done.run.audit())
    assert other_tasks() == []
    assert left_since(before) == []


@pytest.mark.guarantee("B2", "D9")
@pytest.mark.parametrize("name", FAILING)
async def test_a_function_that_fails_ends_the_run_at_its_error_limit(name: str, tmp_path: Path) -> None:
    before = held()
    done = await in_time(
        lambda: agent_of(Runaway(tool=name), (tool(any_call(BAD_FUNCTIONS[name])),), Budget(turns=8)),
        tmp_path,
    )
    assert isinstance(done.run.outcome, Forced)
    assert done.run.outcome.reason.rule is StopRule.ERROR_LIMIT
    assert unanswered(done.record) == []
    assert done.run.audit(), str(done.run.audit())
    assert left_since(before) == []


@pytest.mark.guarantee("D9", "A14")
@pytest.mark.parametrize("name", TALKING)
async def test_a_function_that_says_too_much_or_odd_things_harms_nothing(name: str, tmp_path: Path) -> None:
    before = held()
    done = await in_time(
        lambda: agent_of(Runaway(tool=name), (tool(any_call(BAD_FUNCTIONS[name])),), Budget(turns=3)),
        tmp_path,
    )
    assert isinstance(done.run.outcome, Completed)
    assert done.run.outcome.warnings
    assert [fact.payload for fact in done.record] == [fact.payload for fact in done.run.facts]
    assert done.run.audit(), str(done.run.audit())
    assert left_since(before) == []


def test_no_bad_function_is_left_out() -> None:
    assert set(BAD_FUNCTIONS) == {*HANGING, *FAILING, *TALKING}
