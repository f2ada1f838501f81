"""Making agents: from what a program gives, from what a record says, and for the gallery."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from endstop.app.config import read_config
from endstop.app.gallery import DEMO, demo_agent
from endstop.events.facts import RunStarted
from endstop.kernel.agent import DEFAULT_BUDGET, AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.decision import DEFAULT_POLICY, make_decision_tree
from endstop.loop.agent import Agent
from endstop.models import make_model
from endstop.ports import Model, Tool
from endstop.tools import tool


def agent_of(started: RunStarted) -> Agent | None:
    """The agent of a run, made anew from its record, where nothing but Endstop's own parts is in it."""
    if started.agent.startswith(DEMO):
        return demo_agent(started.agent.removeprefix(DEMO), started.config)
    if started.tools:
        return None
    return Agent(
        name=started.agent,
        model=make_model(started.model),
        system=started.system,
        config=started.config,
        policy=started.policy,
    )


def make_agent(
    *,
    model: Model | str | None = None,
    tools: Iterable[Tool | Callable[..., object]] = (),
    budget: Budget | None = None,
    config: AgentConfig | None = None,
    policy: str = DEFAULT_POLICY,
    **parts: Any,
) -> Agent:
    """An agent from a model (or its name), tools (or plain functions) and a budget."""
    chosen = make_decision_tree(policy).get_config() if config is None else config
    if budget is not None:
        chosen = replace(chosen, budget=_with_ceilings(budget))
    named = read_config().model if model is None else model
    return Agent(
        model=make_model(named) if isinstance(named, str) else named,
        tools=tuple(each if isinstance(each, Tool) else tool(each) for each in tools),
        config=chosen,
        policy=policy,
        **parts,
    )


def _with_ceilings(budget: Budget) -> Budget:
    """A budget with the default ceilings per turn where it says nothing of them."""
    return replace(
        budget,
        tool_calls_per_turn=budget.tool_calls_per_turn or DEFAULT_BUDGET.tool_calls_per_turn,
        parallel_tools=budget.parallel_tools or DEFAULT_BUDGET.parallel_tools,
    )
