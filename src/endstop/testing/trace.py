"""Traces: recorded runs of any agent in one neutral form, and what detectors make of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from endstop.kernel.detectors import Detector, Watch, standard_detectors
from endstop.kernel.finding import DEFAULT_RESPONSES, Finding, Pattern, Response
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import (
    AssistantSaid,
    CallStatus,
    Observation,
    SignalGiven,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSaid,
    tool_called,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCall:
    """A tool call and its result."""

    tool: str
    args: object = None
    ok: bool = True
    result: str = ""
    waiting: bool = False
    cursor: bool = False
    changes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSignal:
    """What the model signalled at the end of a reply."""

    type: str = "need_turn"
    reason: str | None = None
    confidence: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One turn: what the model said, and the calls it made."""

    turn: int
    text: str = ""
    signal: TraceSignal | None = None
    user_before: bool = False
    conversation: str | None = None
    """Which of several conversations it belongs to. What repeats is counted within each of them."""
    calls: tuple[TraceCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A recorded run with its label."""

    id: str
    source: str = ""
    label: str | None = None
    pattern: str | None = None
    first_stuck_step: int | None = None
    """The step, counted from 0, at which a perfect detector fires."""
    must_use_tools: bool = False
    steps: tuple[TraceStep, ...]
    meta: Mapping[str, object] = field(default_factory=lambda: MappingProxyType(dict[str, object]()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFinding:
    """A finding, and the step of the trace at which it was made."""

    step: int
    finding: Finding


def run_trace(trace: Trace, detectors: Iterable[Detector] | None = None) -> tuple[TraceFinding, ...]:
    """Show a trace to detectors, by default the standard ones, and tell what they found where."""
    fresh = tuple(standard_detectors(must_use_tools=trace.must_use_tools) if detectors is None else detectors)
    in_scope: dict[str, Watch] = {}
    found: list[TraceFinding] = []
    for step, observation in _observed(trace):
        watch = in_scope.get(observation.scope, Watch(detectors=fresh))
        in_scope[observation.scope], findings = watch.after(observation)
        found.extend(TraceFinding(step=step, finding=finding) for finding in findings)
    return tuple(found)


def observations_of(trace: Trace) -> Iterator[Observation]:
    """What an observer of the run would have told; the clock just counts up."""
    return (observation for _, observation in _observed(trace))


def _observed(trace: Trace) -> Iterator[tuple[int, Observation]]:
    at_s = 0.0
    for number, step in enumerate(trace.steps):
        for observation in _observations_of_step(number, step, at_s):
            at_s = observation.at_s + 1.0
            yield number, observation


def _observations_of_step(number: int, step: TraceStep, at_s: float) -> Iterator[Observation]:
    scope = ROOT if step.conversation is None else f"{ROOT}/{step.conversation}"
    turn = step.turn
    if step.user_before:
        yield UserSaid(at_s=at_s, scope=scope)
    yield TurnStarted(at_s=at_s + 1, scope=scope, turn=turn)
    yield AssistantSaid(at_s=at_s + 2, scope=scope, turn=turn, text=step.text)
    if (signal := step.signal) is not None:
        yield SignalGiven(
            at_s=at_s + 3,
            scope=scope,
            turn=turn,
            type=signal.type,
            confidence=signal.confidence,
            reason=signal.reason,
        )
    at_s += 4
    called = [
        tool_called(
            at_s=at_s + place,
            scope=scope,
            turn=turn,
            call=f"{number}.{place}",
            tool=call.tool,
            arguments={} if call.args is None else call.args,
            is_cursor=call.cursor,
        )
        for place, call in enumerate(step.calls)
    ]
    yield from called
    at_s += len(called)
    for place, (asked, call) in enumerate(zip(called, step.calls, strict=True)):
        yield ToolFinished(
            at_s=at_s + place,
            scope=scope,
            turn=turn,
            call=asked.call,
            tool=asked.tool,
            key=asked.key,
            status=CallStatus.EXECUTED if call.ok else CallStatus.FAILED,
            result=call.result,
            is_waiting=call.waiting,
            changes_something=call.changes,
            is_cursor=call.cursor,
        )
    yield TurnEnded(at_s=at_s + len(called), scope=scope, turn=turn)


def is_alarm(finding: Finding) -> bool:
    """Whether a finding says that the run is stuck, as B10 counts it.

    Error streaks (B2) are counted apart, and a reminder to use tools is none. A call that keeps failing the
    same way (B5) is one, though by default it leads to a nudge.
    """
    if finding.pattern is Pattern.ERROR_STREAK:
        return False
    return finding.pattern is Pattern.FAILING_CALL or DEFAULT_RESPONSES[finding.pattern] is Response.STOP
