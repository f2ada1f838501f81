"""Making agents: from what a program gives, from what a record says, for the gallery and the playground."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, TypeAlias, cast

from endstop.app.config import read_config
from endstop.app.gallery import DEMO, demo_agent
from endstop.app.playground import is_player, player_agent
from endstop.coding import CODING
from endstop.errors import InvalidValueError
from endstop.events.facts import RunStarted
from endstop.kernel.agent import DEFAULT_BUDGET, AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.decision import DEFAULT_POLICY, make_decision_tree
from endstop.kernel.texts import closest
from endstop.loop.agent import DEFAULT_MAX_OUTPUT_TOKENS, Agent, OnLimit
from endstop.models import make_model
from endstop.oracle import ORACLE
from endstop.ports import Model, Tool
from endstop.tools import tool

ToolLike: TypeAlias = Tool | Callable[..., object]
"""A tool, or a plain function that becomes one."""

_PARTS = tuple(field.name for field in fields(Agent))


def agent_of(started: RunStarted) -> Agent | None:
    """The agent of a run, made anew from its record, where nothing but Endstop's own parts is in it."""
    if started.agent.startswith(DEMO):
        return demo_agent(started.agent.removeprefix(DEMO), started.config)
    if is_player(started.agent):
        return player_agent(started.agent, config=started.config, on_limit=started.on_limit)
    if started.agent == ORACLE:
        from endstop.app.oracle import remade_oracle  # brings Lua along, which few runs need

        return remade_oracle(started)
    if started.agent == CODING:
        from endstop.app.coding import remade_session

        return remade_session(started)
    if started.own_parts:
        return None
    return Agent(
        name=started.agent,
        model=make_model(started.model),
        system=started.system,
        config=started.config,
        policy=started.policy,
        on_limit=OnLimit(started.on_limit),
        max_output_tokens=started.max_output_tokens or DEFAULT_MAX_OUTPUT_TOKENS,
    )


def make_agent(
    *,
    model: Model | str | None = None,
    tools: Iterable[ToolLike] = (),
    terminal: ToolLike | None = None,
    budget: Budget | None = None,
    config: AgentConfig | None = None,
    policy: str = DEFAULT_POLICY,
    **parts: Any,
) -> Agent:
    """An agent from a model (or its name), tools (or plain functions) and a budget."""
    _require_known(parts)
    chosen = make_decision_tree(policy).get_config() if config is None else config
    if budget is not None:
        if not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance] - callers' code
            raise InvalidValueError("budget", budget, allowed="a Budget, such as Budget(turns=30)")
        chosen = replace(chosen, budget=_with_ceilings(budget))
    named = read_config().model if model is None else model
    return Agent(
        model=make_model(named) if isinstance(named, str) else named,
        tools=_tools(tools),
        terminal=None if terminal is None else _tool(terminal),
        config=chosen,
        policy=policy,
        **parts,
    )


def chosen_agent(agent: Agent | None, *, is_resumed: bool = False, **parts: Any) -> Agent:
    """The agent that was given, or one made of the parts that were; not both."""
    given = [name for name, value in parts.items() if value not in (None, ())]
    if is_resumed and "budget" in given:
        raise InvalidValueError(
            "budget",
            parts["budget"],
            allowed="none: a run keeps its budget",
            to_do="Give it more with a grant",
        )
    if agent is None:
        return make_agent(**parts)
    if given:
        raise InvalidValueError(
            "agent", agent.name, allowed=f"an agent, or its parts ({', '.join(given)}), not both"
        )
    return agent


def _tools(tools: object) -> tuple[Tool, ...]:
    if isinstance(tools, Tool) or not isinstance(tools, Iterable):
        raise InvalidValueError("tools", tools, allowed="several tools or functions, such as [search]")
    return tuple(_tool(each) for each in cast("Iterable[ToolLike]", tools))


def _tool(given: ToolLike) -> Tool:
    return given if isinstance(given, Tool) else tool(given)


def _require_known(parts: dict[str, Any]) -> None:
    for name in parts:
        if name not in _PARTS:
            meant = closest(name, _PARTS)
            raise InvalidValueError(
                "argument",
                name,
                allowed=", ".join(_PARTS),
                to_do=f"You probably meant {meant}" if meant else "Use one of these",
            )


def _with_ceilings(budget: Budget) -> Budget:
    """A budget with the default ceilings per turn where it says nothing of them."""
    return replace(
        budget,
        tool_calls_per_turn=budget.tool_calls_per_turn or DEFAULT_BUDGET.tool_calls_per_turn,
        parallel_tools=budget.parallel_tools or DEFAULT_BUDGET.parallel_tools,
    )
