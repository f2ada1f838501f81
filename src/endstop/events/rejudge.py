"""Judging a record again: would this governor have noticed the same, and ended it the same way?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import assert_never

from endstop.errors import EndstopError
from endstop.events.facts import NOTES, ChildHandedOut, Fact, HintGiven, Payload
from endstop.events.recorder import Recorder, replay
from endstop.kernel.decision import rule_named
from endstop.kernel.detectors import Detector
from endstop.kernel.observation import Observation, RunEnded, ScopeEnded, ScopeOpened
from endstop.kernel.outcome import (
    Abandoned,
    Cancelled,
    Completed,
    Ending,
    Failed,
    Forced,
    Stopped,
    StopRule,
)
from endstop.kernel.verdict import FindingReported, LimitNotice, Overrun, PriceUnknown, Stop


def difference_on_replay(record: Sequence[Fact], detectors: tuple[Detector, ...] | None) -> str | None:
    """What comes out differently when a whole record is replayed, in words; None if nothing does."""
    elsewhere: set[str] = set()
    try:
        recorder = replay(record[:1], detectors=detectors)
        for fact in record[1:]:
            _note_elsewhere(elsewhere, fact.payload)
            problem = _ending_differs(recorder, fact, elsewhere)
            if problem is not None:
                return problem
            if isinstance(fact.payload, Observation):
                recorder.observe(fact.payload, time=fact.time)
            elif isinstance(fact.payload, NOTES):
                recorder.note(fact.payload, time=fact.time)
    except EndstopError as error:
        return str(error)
    for before, after in zip(record, recorder.facts, strict=False):
        if _gist(before.payload) != _gist(after.payload):
            return _difference(before, after)
    if len(recorder.facts) != len(record):
        return f"{len(record)} facts became {len(recorder.facts)}"
    return None


def _note_elsewhere(elsewhere: set[str], payload: Payload) -> None:
    """Keep which scopes belong to runs of their own: how one of them ended is judged by its own record."""
    if isinstance(payload, ChildHandedOut):
        elsewhere.add(payload.scope)
    elif isinstance(payload, ScopeOpened):
        elsewhere.discard(payload.scope)


def _ending_differs(recorder: Recorder, fact: Fact, elsewhere: set[str]) -> str | None:
    """What is wrong with an ending, if the governor would not end it so at that moment."""
    payload = fact.payload
    if isinstance(payload, ScopeEnded) and payload.scope in elsewhere:
        return None
    if not isinstance(payload, RunEnded | ScopeEnded) or payload.scope not in recorder.state.scopes:
        return None
    claimed = _claimed_rule(payload.outcome)
    if claimed is None:
        return None
    verdict = recorder.verdict(at_s=payload.at_s, scope=payload.scope)
    if not isinstance(verdict, Stop) or verdict.reason.rule is not claimed:
        now = verdict.reason.rule.value if isinstance(verdict, Stop) else "go on"
        return f"it was ended by {claimed.value}, now the verdict is {now}"
    has_caveat = bool(recorder.state.scopes[payload.scope].caveat)
    is_warning_due = verdict.reason.limit is not None or has_caveat
    if isinstance(payload.outcome, Completed) and bool(payload.outcome.warnings) != is_warning_due:
        return "it was completed without the warning that is due, or with one that is not"
    return None


def _claimed_rule(outcome: Ending) -> StopRule | None:
    """The rule an ending says it was ended by; None where that is the driver's own to say."""
    match outcome:
        case Completed():
            return StopRule.FINISHED
        case Cancelled():
            return StopRule.CANCELLED
        case Forced(reason=reason) | Stopped(reason=reason):
            return None if reason.rule is StopRule.PARENT else reason.rule
        case Failed(code=code):
            return rule_named(code)
        case Abandoned():
            return None
        case _:
            assert_never(outcome)


def _gist(payload: Payload) -> Payload:
    """A payload without the sentences the governor wrote: a later version may word them better."""
    match payload:
        case LimitNotice() | Overrun() | PriceUnknown():
            return replace(payload, message="")
        case HintGiven():
            return replace(payload, text="")
        case FindingReported(finding=finding):
            return replace(payload, finding=replace(finding, message="", advice=""))
        case _:
            return payload


def _difference(before: Fact, after: Fact) -> str:
    if before.type != after.type:
        return f"fact {before.seq} is {before.type}, now {after.type}"
    names = [field.name for field in fields(before.payload)]
    differing = [name for name in names if getattr(before.payload, name) != getattr(after.payload, name)]
    return f"fact {before.seq}, {before.type}, now differs in {', '.join(differing)}"
