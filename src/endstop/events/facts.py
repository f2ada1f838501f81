"""The facts a run's record is made of: frozen, numbered, with stable dotted names (H1, H2).

A payload is one of three things. An *observation* is what the kernel was told; feeding the observations
of a record to a governor gives the run's state. A *derivation* is what the governor noticed on the way;
replaying must bring exactly the same ones. A *note* is kept for people and drivers; the kernel never
hears of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias

from endstop.events import coding
from endstop.events.steered import (
    CapabilityMissing,
    FallbackChosen,
    PromptSet,
    QueryClassified,
    TreeChosen,
    TreeTraced,
)
from endstop.kernel import observation as seen
from endstop.kernel import verdict as noticed
from endstop.kernel.agent import AgentConfig
from endstop.kernel.decision import DEFAULT_POLICY
from endstop.kernel.evolve import quick
from endstop.kernel.finding import Pattern
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.outcome import Completed, Failed
from endstop.kernel.review import Review, ReviewDecision


class Severity(StrEnum):
    """How much a fact matters to somebody who watches."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The first fact of every record: all that is needed to judge the run again."""

    config: AgentConfig
    policy: str = DEFAULT_POLICY
    user: str | None = None
    project: str | None = None
    question: str = ""
    detectors: tuple[str, ...] | None = None
    """The names of detectors of the caller's own; None for the standard ones."""
    agent: str = ""
    """The name of the agent, where Endstop itself drives it; below, what it was made of."""
    model: str = ""
    system: str = ""
    tools: tuple[str, ...] = ()
    on_limit: str = "finish"
    max_output_tokens: int | None = None
    own_parts: tuple[str, ...] = ()
    """What in the agent is somebody's own code, so that nobody else can make it anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HintGiven:
    """What the model was told: to wrap up, that it is the last turn, to try otherwise."""

    scope: str = ROOT
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRejected:
    """A signal that was malformed, or one more than the first: stripped from the reply, and logged (C4)."""

    scope: str = ROOT
    turn: int
    text: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCited:
    """A passage that an answer rests on."""

    scope: str = ROOT
    title: str
    location: str
    passage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """The model's thinking, where the provider shows it."""

    scope: str = ROOT
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTold:
    """What the driver told the model of its own accord: to go on, to be shorter."""

    scope: str = ROOT
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed:
    """A model call failed; it is tried again after ``retry_in_s``, or not (None)."""

    scope: str = ROOT
    turn: int
    attempt: int
    code: str
    message: str
    retry_in_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDisputed:
    """A provider reported what cannot be: more than the call was allowed, or nothing for a reply that came.

    The call was settled at our own count.
    """

    scope: str = ROOT
    turn: int
    reported_tokens: int
    counted_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAwaited:
    """The agent told the user how it stands, and waits for an answer (D7)."""

    scope: str = ROOT
    turn: int
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationReached:
    """A soft or a hard limit on iterations was reached, and its handler called (D2)."""

    scope: str = ROOT
    key: str
    limit: int
    iteration: int
    is_hard: bool = False
    failure: str | None = None
    """What the handler failed with, if it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTaken:
    """A process has taken on the run: the one that worked on it before has died, or must stop."""

    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDelegated:
    """The run is a sub-agent's: which run it works for, and the scope there that holds its budget."""

    parent: str
    parent_scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildHandedOut:
    """The sub-agent of a scope runs as a run of its own: by its record it is found, ended and settled."""

    scope: str
    run_id: str
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequested:
    """A hard limit was met: somebody is asked to decide."""

    scope: str = ROOT
    review: Review


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecided:
    """Somebody decided."""

    scope: str = ROOT
    review_id: str
    decision: ReviewDecision
    by: str


Derivation: TypeAlias = noticed.Notice | HintGiven
Note: TypeAlias = (
    SignalRejected
    | SourceCited
    | Thought
    | ModelTold
    | ModelFailed
    | UsageDisputed
    | UserAwaited
    | EscalationReached
    | RunTaken
    | RunDelegated
    | ChildHandedOut
    | ReviewRequested
    | ReviewDecided
    | TreeChosen
    | TreeTraced
    | QueryClassified
    | PromptSet
    | CapabilityMissing
    | FallbackChosen
    | coding.CodingNote
)
Payload: TypeAlias = RunStarted | seen.Observation | Derivation | Note

NOTES = (
    SignalRejected,
    SourceCited,
    Thought,
    ModelTold,
    ModelFailed,
    UsageDisputed,
    UserAwaited,
    EscalationReached,
    RunTaken,
    RunDelegated,
    ChildHandedOut,
    ReviewRequested,
    ReviewDecided,
    TreeChosen,
    TreeTraced,
    QueryClassified,
    PromptSet,
    CapabilityMissing,
    FallbackChosen,
    *coding.CODING_FACTS.values(),
)
OBSERVATIONS: tuple[type[seen.Observation], ...] = (
    seen.ScopeOpened,
    seen.ScopeEnded,
    seen.TurnStarted,
    seen.TurnEnded,
    seen.CallReserved,
    seen.CallSettled,
    seen.ChildSettled,
    seen.CallUnaffordable,
    seen.ContextMeasured,
    seen.AssistantSaid,
    seen.ReplyRepeated,
    seen.SignalGiven,
    seen.ToolCalled,
    seen.ToolFinished,
    seen.IterationEnded,
    seen.UserSaid,
    seen.AgentFinished,
    seen.CancelRequested,
    seen.RunPaused,
    seen.RunResumed,
    seen.BudgetGranted,
    seen.RunEnded,
)

_LIMIT_WORDS = {
    LimitKind.TURNS: "iteration",
    LimitKind.TOKENS: "token",
    LimitKind.COST_USD: "cost",
    LimitKind.SECONDS: "time",
    LimitKind.MODEL_CALLS: "model_call",
    LimitKind.CONTEXT_TOKENS: "context",
}

PAYLOAD_OF_TYPE = MappingProxyType(
    {
        "run.started": RunStarted,
        "run.taken": RunTaken,
        "run.delegated": RunDelegated,
        "run.paused": seen.RunPaused,
        "run.resumed": seen.RunResumed,
        "run.cancel_requested": seen.CancelRequested,
        "run.ended": seen.RunEnded,
        "scope.opened": seen.ScopeOpened,
        "scope.ended": seen.ScopeEnded,
        "child.handed_out": ChildHandedOut,
        "child.settled": seen.ChildSettled,
        "turn.started": seen.TurnStarted,
        "turn.ended": seen.TurnEnded,
        "budget.reserved": seen.CallReserved,
        "budget.settled": seen.CallSettled,
        "budget.unaffordable": seen.CallUnaffordable,
        "budget.granted": seen.BudgetGranted,
        "budget.overrun": noticed.Overrun,
        "budget.price_unknown": noticed.PriceUnknown,
        **{f"budget.{word}.warning": noticed.LimitWarned for word in _LIMIT_WORDS.values()},
        **{f"budget.{word}.exceeded": noticed.LimitExceeded for word in _LIMIT_WORDS.values()},
        "context.measured": seen.ContextMeasured,
        "assistant.said": seen.AssistantSaid,
        "assistant.repeated": seen.ReplyRepeated,
        "assistant.thought": Thought,
        "assistant.cited": SourceCited,
        "model.told": ModelTold,
        "model.failed": ModelFailed,
        "usage.disputed": UsageDisputed,
        "signal.parsed": seen.SignalGiven,
        "signal.rejected": SignalRejected,
        "tool.called": seen.ToolCalled,
        "tool.finished": seen.ToolFinished,
        "tool.tripped": noticed.FindingReported,
        "agent.loop.detected": noticed.FindingReported,
        "agent.errors.detected": noticed.FindingReported,
        "agent.finished": seen.AgentFinished,
        "hint.given": HintGiven,
        "iteration.ended": seen.IterationEnded,
        "user.said": seen.UserSaid,
        "user.awaited": UserAwaited,
        "escalation.reached": EscalationReached,
        "review.requested": ReviewRequested,
        "review.decided": ReviewDecided,
        "tree.chosen": TreeChosen,
        "tree.traced": TreeTraced,
        "query.classified": QueryClassified,
        "model.prompted": PromptSet,
        "capability.missing": CapabilityMissing,
        "fallback.chosen": FallbackChosen,
        **coding.CODING_FACTS,
    }
)
"""Every type of fact there is. Names never change; new ones may be added."""

_SEVERITY_OF_PAYLOAD: dict[type, Severity] = {
    noticed.LimitExceeded: Severity.ERROR,
    noticed.Overrun: Severity.ERROR,
    noticed.LimitWarned: Severity.WARNING,
    noticed.FindingReported: Severity.WARNING,
    noticed.PriceUnknown: Severity.WARNING,
    ModelFailed: Severity.WARNING,
    UsageDisputed: Severity.WARNING,
    EscalationReached: Severity.WARNING,
    seen.CallUnaffordable: Severity.WARNING,
    SignalRejected: Severity.WARNING,
    ReviewRequested: Severity.WARNING,
    seen.ReplyRepeated: Severity.WARNING,
    seen.CallReserved: Severity.DEBUG,
    seen.CallSettled: Severity.DEBUG,
    seen.ContextMeasured: Severity.DEBUG,
    HintGiven: Severity.DEBUG,
    ModelTold: Severity.DEBUG,
    TreeTraced: Severity.DEBUG,
    PromptSet: Severity.DEBUG,
    CapabilityMissing: Severity.WARNING,
    FallbackChosen: Severity.WARNING,
}
"""Where the class alone tells the severity, and it is not the usual one."""

_JUDGED_BY_CONTENT = frozenset(
    {
        seen.ToolFinished,
        seen.RunEnded,
        seen.ScopeEnded,
        coding.SpecificationGiven,
        coding.PriceGiven,
        coding.TestsRun,
        coding.IssuesFound,
        coding.SessionConcluded,
    }
)


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One entry of a record: its number, its time, who wrote it, and what it says."""

    run_id: str
    seq: int
    """Counts from 0 without gaps."""
    time: float
    """Seconds since 1970, for people. What the kernel goes by is ``at_s`` in the payload."""
    source: str
    payload: Payload

    @property
    def type(self) -> str:
        return type_of(self.payload)

    @property
    def severity(self) -> Severity:
        return severity_of(self.payload)


def type_of(payload: Payload) -> str:
    """The dotted name of a payload's kind of fact."""
    name = _TYPE_OF_PAYLOAD.get(type(payload))
    return _TYPE_BY_CONTENT[type(payload)](payload) if name is None else name


def _type_of_warning(warned: noticed.LimitWarned) -> str:
    return f"budget.{_LIMIT_WORDS.get(warned.limit_type, warned.limit_type.value)}.warning"


def _type_of_excess(exceeded: noticed.LimitExceeded) -> str:
    return f"budget.{_LIMIT_WORDS.get(exceeded.limit_type, exceeded.limit_type.value)}.exceeded"


def _type_of_finding(reported: noticed.FindingReported) -> str:
    if reported.finding.pattern is Pattern.FAILING_CALL:
        return "tool.tripped"
    is_streak = reported.finding.pattern is Pattern.ERROR_STREAK
    return "agent.errors.detected" if is_streak else "agent.loop.detected"


_TYPE_BY_CONTENT: dict[type, Callable[[Any], str]] = {
    noticed.LimitWarned: _type_of_warning,
    noticed.LimitExceeded: _type_of_excess,
    noticed.FindingReported: _type_of_finding,
}

_TYPE_OF_PAYLOAD: dict[type, str] = {
    payload: name for name, payload in PAYLOAD_OF_TYPE.items() if payload not in _TYPE_BY_CONTENT
}


def severity_of(payload: Payload) -> Severity:
    if type(payload) not in _JUDGED_BY_CONTENT:
        return _SEVERITY_OF_PAYLOAD.get(type(payload), Severity.INFO)
    match payload:
        case seen.ToolFinished(is_error=True):
            return Severity.WARNING
        case seen.RunEnded(outcome=Failed()) | seen.ScopeEnded(outcome=Failed()):
            return Severity.ERROR
        case seen.RunEnded(outcome=Completed(warnings=())) | seen.ScopeEnded(outcome=Completed(warnings=())):
            return Severity.INFO
        case seen.RunEnded() | seen.ScopeEnded():
            return Severity.WARNING
        case seen.ToolFinished():
            return Severity.INFO
        case _:
            return Severity.WARNING if _is_setback(payload) else Severity.INFO


def _is_setback(payload: Payload) -> bool:
    """Whether a coding session is further from its end than it hoped to be."""
    match payload:
        case (
            coding.SpecificationGiven(lacking=(_, *_))
            | coding.PriceGiven(verdict=coding.PriceVerdict.REJECTED)
            | coding.TestsRun(are_green=False)
        ):
            return True
        case coding.IssuesFound(issues=issues):
            return any(issue.gravity is coding.Gravity.CRITICAL for issue in issues)
        case coding.SessionConcluded(kind=kind):
            return kind != "succeeded"
        case _:
            return False
