"""The gallery of `endstop demo`: every adversary, as an agent under a budget that it would like to break."""

from __future__ import annotations

from endstop.errors import InvalidValueError
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.texts import closest
from endstop.loop.agent import Agent, Retries
from endstop.testing import ADVERSARIES

DEMO = "demo:"
"""How the agents of the gallery are named in a record: this, and the name of the adversary."""

DEMO_BUDGET = Budget(
    turns=12, tokens=30_000, cost_usd="0.05", seconds=3, tool_calls_per_turn=10, parallel_tools=3
)
_QUICK_RETRIES = Retries(attempts=3, first_wait_s=0.05)


def demo_agent(name: str, config: AgentConfig | None = None) -> Agent:
    """The adversary of that name as an agent, under the budget of the gallery or the one it had."""
    adversary = ADVERSARIES.get(name)
    if adversary is None:
        meant = closest(name, ADVERSARIES)
        raise InvalidValueError(
            "adversary",
            name,
            allowed=f"one of the {len(ADVERSARIES)} names that `endstop demo --list` shows",
            to_do=f"Did you mean {meant}?" if meant else "Choose one of them",
        )
    own = AgentConfig(budget=DEMO_BUDGET, must_use_tools=adversary.must_use_tools)
    return Agent(
        name=f"{DEMO}{name}",
        model=adversary.make_model(),
        tools=adversary.make_tools(),
        config=own if config is None else config,
        max_output_tokens=1_000,
        retries=_QUICK_RETRIES,
    )
