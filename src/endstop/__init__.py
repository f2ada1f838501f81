"""Endstop: agents that always end, on purpose, inside their budget, with their work saved.

``run`` an agent under a ``Budget``, or put a ``Guard`` around a loop of your own; then print ``explain()``.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # checkers take it for true; importing it from typing would cost more than all the rest
if TYPE_CHECKING:
    from endstop import errors
    from endstop.app import resume, run
    from endstop.errors import EndstopError
    from endstop.events.audit import Audit, audit
    from endstop.events.codec import decode, encode, read_record
    from endstop.events.explain import explain
    from endstop.events.facts import Fact
    from endstop.guard import Guard
    from endstop.kernel.agent import AgentConfig, AgentState
    from endstop.kernel.bounds import upper_bound
    from endstop.kernel.budget import Budget, Grant
    from endstop.kernel.conditions import cost_usd, idle, no_progress, seconds, tokens, turns
    from endstop.kernel.decision import DefaultDecisionTree, decision_tree
    from endstop.kernel.detectors import standard_detectors
    from endstop.kernel.finding import Finding
    from endstop.kernel.outcome import (
        Abandoned,
        AwaitingUser,
        Cancelled,
        Completed,
        Failed,
        Forced,
        Stopped,
        UnderReview,
    )
    from endstop.kernel.review import Approved, NeedsChanges, Rejected
    from endstop.kernel.thresholds import Thresholds
    from endstop.loop import Agent
    from endstop.runner import Run
    from endstop.tools import tool

__all__ = [
    "Abandoned",
    "Agent",
    "AgentConfig",
    "AgentState",
    "Approved",
    "Audit",
    "AwaitingUser",
    "Budget",
    "Cancelled",
    "Completed",
    "DefaultDecisionTree",
    "EndstopError",
    "Fact",
    "Failed",
    "Finding",
    "Forced",
    "Grant",
    "Guard",
    "NeedsChanges",
    "Rejected",
    "Run",
    "Stopped",
    "Thresholds",
    "UnderReview",
    "audit",
    "cost_usd",
    "decision_tree",
    "decode",
    "encode",
    "errors",
    "explain",
    "idle",
    "no_progress",
    "read_record",
    "resume",
    "run",
    "seconds",
    "standard_detectors",
    "tokens",
    "tool",
    "turns",
    "upper_bound",
]

_HOMES = {
    "errors": "endstop.errors",
    "EndstopError": "endstop.errors",
    "Audit": "endstop.events.audit",
    "audit": "endstop.events.audit",
    "decode": "endstop.events.codec",
    "encode": "endstop.events.codec",
    "read_record": "endstop.events.codec",
    "explain": "endstop.events.explain",
    "Fact": "endstop.events.facts",
    "Guard": "endstop.guard",
    "AgentConfig": "endstop.kernel.agent",
    "AgentState": "endstop.kernel.agent",
    "upper_bound": "endstop.kernel.bounds",
    "Budget": "endstop.kernel.budget",
    "Grant": "endstop.kernel.budget",
    "cost_usd": "endstop.kernel.conditions",
    "idle": "endstop.kernel.conditions",
    "no_progress": "endstop.kernel.conditions",
    "seconds": "endstop.kernel.conditions",
    "tokens": "endstop.kernel.conditions",
    "turns": "endstop.kernel.conditions",
    "DefaultDecisionTree": "endstop.kernel.decision",
    "decision_tree": "endstop.kernel.decision",
    "standard_detectors": "endstop.kernel.detectors",
    "Finding": "endstop.kernel.finding",
    "Abandoned": "endstop.kernel.outcome",
    "AwaitingUser": "endstop.kernel.outcome",
    "Cancelled": "endstop.kernel.outcome",
    "Completed": "endstop.kernel.outcome",
    "Failed": "endstop.kernel.outcome",
    "Forced": "endstop.kernel.outcome",
    "Stopped": "endstop.kernel.outcome",
    "UnderReview": "endstop.kernel.outcome",
    "Approved": "endstop.kernel.review",
    "NeedsChanges": "endstop.kernel.review",
    "Rejected": "endstop.kernel.review",
    "Thresholds": "endstop.kernel.thresholds",
    "Agent": "endstop.loop",
    "Run": "endstop.runner",
    "resume": "endstop.app",
    "run": "endstop.app",
    "tool": "endstop.tools",
}
"""Where each public name lives. It is imported when it is first used: ``import endstop`` costs nothing."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'endstop' has no attribute {name!r}")
    module = import_module(home)
    value: object = module if name == "errors" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
