"""Agents as values: what is refused, and what their parts imply."""

from __future__ import annotations

from typing import Any, cast

import pytest

from endstop.errors import InvalidValueError, UnboundedError
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.escalation import Escalation
from endstop.kernel.limits import LimitKind
from endstop.loop import Agent, OnLimit
from endstop.testing import ScriptedModel, echo_tool

MODEL = ScriptedModel("x")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": " "},
        {"model": "gpt"},
        {"tools": echo_tool()},
        {"tools": 7},
        {"max_output_tokens": 0},
        {"max_output_tokens": True},
        {"max_result_chars": 10},
        {"stall_s": 0},
        {"stall_s": float("inf")},
        {"tool_timeout_s": "a minute"},
        {"tool_timeout_s": True},
        {"tools": (echo_tool("a b"),)},
        {"tools": (echo_tool("x" * 65),)},
        {"tools": (echo_tool(), echo_tool())},
        {"tools": (echo_tool(),), "terminal": echo_tool()},
        {"tools": (echo_tool("await_user"),), "awaits_user": True},
    ],
)
def test_what_an_agent_cannot_be_made_of_is_refused(wrong: dict[str, Any]) -> None:
    parts: dict[str, Any] = {"model": MODEL, **wrong}
    with pytest.raises(InvalidValueError) as caught:
        Agent(**parts)
    assert caught.value.field in {*wrong, "name of a tool"}


def test_on_limit_takes_its_words_and_no_others() -> None:
    assert Agent(model=MODEL, on_limit=cast("OnLimit", "review")).on_limit is OnLimit.REVIEW
    with pytest.raises(InvalidValueError, match="finish or review"):
        Agent(model=MODEL, on_limit=cast("OnLimit", "explode"))


@pytest.mark.guarantee("A13")
def test_an_agent_that_nothing_would_end_is_refused() -> None:
    with pytest.raises(UnboundedError):
        Agent(model=MODEL, config=AgentConfig(budget=Budget(cost_usd="1")))


@pytest.mark.guarantee("A13")
def test_the_upper_bound_counts_every_retry_as_a_call() -> None:
    bound = Agent(model=MODEL, config=AgentConfig(budget=Budget(turns=10, tool_calls_per_turn=3))).upper_bound
    assert (bound.turns, bound.model_calls, bound.tool_calls) == (10, 40, 30)


@pytest.mark.guarantee("D1")
def test_a_terminal_tool_implies_that_tools_must_be_used() -> None:
    agent = Agent(model=MODEL, terminal=echo_tool("submit"))
    assert agent.config.must_use_tools
    assert agent.config.terminal_tool == "submit"


@pytest.mark.guarantee("D2")
@pytest.mark.parametrize(
    ("turns", "hard", "soft", "limit", "warns_at"),
    [(None, 8, None, 8, 5), (3, 8, 2, 3, 2), (100, 10, 8, 10, 8), (100, 8, 8, 8, 8)],
)
def test_a_hard_limit_is_a_limit_on_turns_and_a_soft_one_its_warning(
    turns: int | None, hard: int, soft: int | None, limit: int, warns_at: int
) -> None:
    budget = Budget(turns=turns, seconds=5)
    agent = Agent(
        model=MODEL,
        config=AgentConfig(budget=budget),
        escalation=Escalation(key="coding", hard=hard, soft=soft),
    )
    found = agent.config.budget.limits[LimitKind.TURNS]
    assert (found.maximum, found.warning_value) == (limit, warns_at)
