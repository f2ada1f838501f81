"""The roles of a session as agents: what each is told, hands in, and is held to.

Each has turns of its own from the policy, besides the part of the session's budget that it is given. Prompts
are files, one per role and one for all; they begin with who the agent is, so that a record reads by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from endstop.coding.policy import ROLES, Policy
from endstop.coding.submissions import (
    SUBMIT_BRIEF,
    SUBMIT_ISSUES,
    SUBMIT_PRICE,
    SUBMIT_REVIEW,
    SUBMIT_SIMPLIFICATION,
    SUBMIT_SPECIFICATION,
    SUBMIT_VERDICTS,
    SUBMIT_WORK,
    Submission,
    submit_plan,
)
from endstop.errors import InvalidValueError
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.escalation import Escalation, Work, default_escalation
from endstop.kernel.texts import closest
from endstop.loop.agent import DEFAULT_MAX_OUTPUT_TOKENS, Agent
from endstop.ports import Model, Tool

REVIEWER_TURNS = 2
"""A reviewer is shown all it needs: one look, one decision."""

_WRITER_OUTPUT_TOKENS = 2 * DEFAULT_MAX_OUTPUT_TOKENS
"""Whoever writes files needs room for a whole one in a reply."""
_WRITERS = ("builder", "simplifier")
TOOL_CALLS_PER_TURN = 10
_PARALLEL_TOOLS = 3
"""For those who only read. Writers do one thing after the other: a test must not run before an edit."""

_PROMPTS = Path(__file__).parent / "prompts"
_SUBMISSIONS: Mapping[str, Submission[Any]] = MappingProxyType(
    {
        "interviewer": SUBMIT_BRIEF,
        "specifier": SUBMIT_SPECIFICATION,
        "pricer": SUBMIT_PRICE,
        "builder": SUBMIT_WORK,
        "tester": SUBMIT_VERDICTS,
        "critic": SUBMIT_ISSUES,
        "simplifier": SUBMIT_SIMPLIFICATION,
        "reviewer": SUBMIT_REVIEW,
    }
)
"""All but the planner's, which depends on the policy."""
_ESCALATES = MappingProxyType(
    {"interviewer": Work.PRODUCT_MANAGER, "planner": Work.PLANNING, "builder": Work.CODING}
)


def role_agent(role: str, *, model: Model, policy: Policy, tools: Sequence[Tool] = (), session: str) -> Agent:
    """The agent of a role. ``tools`` are those it works with; the one it hands in with is its own."""
    turns = turns_of(role, policy)
    return Agent(
        model=model,
        name=role,
        system=role_prompt(role),
        tools=tuple(tools),
        terminal=submission_of(role, policy),
        config=AgentConfig(
            budget=Budget(
                turns=turns,
                seconds=policy.plan.seconds if role == "planner" else None,
                tool_calls_per_turn=TOOL_CALLS_PER_TURN,
                parallel_tools=1 if role in _WRITERS else _PARALLEL_TOOLS,
            )
        ),
        escalation=_escalation(role, policy, turns, session),
        awaits_user=role == "interviewer",
        max_output_tokens=_WRITER_OUTPUT_TOKENS if role in _WRITERS else DEFAULT_MAX_OUTPUT_TOKENS,
    )


def role_prompt(role: str) -> str:
    """What an agent of this role is told, whatever its question is."""
    return f"You are the {_known(role)} of a coding session.\n\n{_text(role)}\n\n{_text('common')}\n"


def submission_of(role: str, policy: Policy) -> Submission[Any]:
    """The tool with which this role hands in its work."""
    return submit_plan(policy.plan.most_tasks) if _known(role) == "planner" else _SUBMISSIONS[role]


def turns_of(role: str, policy: Policy) -> int:
    """How many turns an agent of this role has each time it works, without grants."""
    return {
        "interviewer": policy.interview.hard,
        "specifier": policy.specify.turns,
        "pricer": policy.price.turns,
        "planner": policy.plan.turns,
        "builder": policy.build.turns,
        "tester": policy.build.tester_turns,
        "critic": policy.critic.turns,
        "simplifier": policy.reflexion.turns,
        "reviewer": REVIEWER_TURNS,
    }[_known(role)]


def _escalation(role: str, policy: Policy, turns: int, session: str) -> Escalation | None:
    """The usual limits on this kind of work (D6), with the figures of the policy."""
    work = _ESCALATES.get(role)
    if work is None:
        return None
    soft = policy.interview.soft if work is Work.PRODUCT_MANAGER else None
    return replace(default_escalation(work, session), soft=soft, hard=turns)


def _known(role: str) -> str:
    if role not in ROLES:
        near = closest(role, ROLES)
        raise InvalidValueError(
            "role",
            role,
            allowed=", ".join(ROLES),
            to_do=f"Did you mean {near}?" if near else "Use one of these",
        )
    return role


@cache
def _text(name: str) -> str:
    return (_PROMPTS / f"{name}.md").read_text(encoding="utf-8").strip()
