"""Endstop: agents that always end, on purpose, inside their budget, with their work saved.

Put a ``Guard`` with a ``Budget`` around a loop of your own, and print ``guard.explain()`` when it ends.
"""

from endstop import errors
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

__all__ = [
    "Abandoned",
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
    "seconds",
    "standard_detectors",
    "tokens",
    "turns",
    "upper_bound",
]
