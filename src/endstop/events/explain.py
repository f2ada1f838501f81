"""Why a run stopped, in plain words, with the evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from endstop.events.coding import CODING_FACTS
from endstop.events.coding_standing import SessionView
from endstop.events.coding_view import session_view, short_commit
from endstop.events.coding_words import tried
from endstop.events.facts import Fact
from endstop.events.summary import Summary, summarise
from endstop.kernel.finding import Evidence, Finding, Pattern
from endstop.kernel.limits import LIMIT_FACTS, LimitKind, Meter, shown
from endstop.kernel.outcome import (
    TRUNCATED_NOTE,
    UNABLE_ANSWER,
    Abandoned,
    Cancelled,
    Completed,
    Ending,
    Failed,
    Forced,
    Stopped,
    StopReason,
    StopRule,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a run ended and why, for a person to read. ``str()`` gives the whole of it as text."""

    headline: str
    why: str
    evidence: tuple[str, ...] = ()
    spent: tuple[str, ...] = ()
    kept: str = ""
    to_do: str = ""

    def __str__(self) -> str:
        lines = [self.headline, self.why]
        if self.evidence:
            lines += ["Evidence:", *(f"  {line}" for line in self.evidence)]
        if self.spent:
            lines += ["Used:", *(f"  {line}" for line in self.spent)]
        lines += [line for line in (self.kept, self.to_do) if line]
        return "\n".join(line for line in lines if line)


def explain(facts: Iterable[Fact]) -> Explanation:
    """Why the run of this record stopped, or how it stands while it has not."""
    record = tuple(facts)
    summary = summarise(record)
    spent = tuple(_used(meter, summary) for meter in summary.meters) or (str(summary.usage),)
    if summary.ending is None:
        return Explanation(
            headline=f"The run has not ended: {summary.usage}.",
            why="Nothing has stopped it so far."
            if summary.waits_for is None
            else f"It waits for a person: {summary.waits_for}",
            evidence=_evidence_of(summary.findings[-1].finding) if summary.findings else (),
            spent=spent,
        )
    session = session_view(record) if any(map(_is_of_coding, record)) else None
    return Explanation(
        headline=_headline(summary.ending, summary),
        why=_why(summary.ending, summary),
        evidence=_evidence(summary.ending, session),
        spent=spent,
        kept=_kept(summary.ending) if session is None else _kept_of(session, summary.ending),
        to_do=_to_do(summary.ending) if session is None else _to_do_after(session, summary.ending),
    )


def _is_of_coding(fact: Fact) -> bool:
    return isinstance(fact.payload, _CODING)


_CODING = tuple(CODING_FACTS.values())


def _headline(ending: Ending, summary: Summary) -> str:
    turns = f"{summary.usage.turns:,} {'turn' if summary.usage.turns == 1 else 'turns'}"
    match ending:
        case Completed(warnings=()):
            return f"Completed after {turns}."
        case Completed():
            return f"Completed after {turns}, with a warning."
        case Forced(reason=reason):
            return f"Forced to complete after {turns}: {_named(reason)}."
        case Stopped(reason=reason):
            return f"Stopped after {turns}: {_named(reason)}."
        case Abandoned():
            return f"Abandoned after {turns}."
        case Cancelled(by=by):
            return f"Cancelled by {by} after {turns}."
        case Failed(code=code):
            return f"Failed after {turns} ({code})."
        case _:
            assert_never(ending)


_RULE_NAMES = {
    StopRule.NO_PROGRESS: "no progress",
    StopRule.ERROR_LIMIT: "too many tool errors in a row",
    StopRule.CONDITION: "its stop condition was met",
    StopRule.POLICY: "its policy ended it",
    StopRule.PARENT: "the run above it ended",
}


def _named(reason: StopReason) -> str:
    if reason.limit is not None:
        return f"{LIMIT_FACTS[reason.limit].word} limit"
    return _RULE_NAMES.get(reason.rule, reason.rule.value)


def _why(ending: Ending, summary: Summary) -> str:
    match ending:
        case Completed(warnings=warnings):
            past = [meter for meter in summary.meters if meter.used > meter.maximum]
            where = "though past its budget" if past else "inside its budget"
            return " ".join(warnings) or f"The agent finished by itself, {where}."
        case Forced(reason=reason) | Stopped(reason=reason):
            return reason.message
        case Abandoned(reason=reason):
            return reason
        case Cancelled():
            return "Somebody asked for it to end."
        case Failed(message=message):
            return message
        case _:
            assert_never(ending)


def _evidence(ending: Ending, session: SessionView | None) -> tuple[str, ...]:
    """What the ending rests on: the finding that led to it, and what was tried."""
    attempts = () if session is None else tried(session)
    if not attempts and isinstance(ending, Abandoned):
        attempts = ending.tried
    finding = ending.reason.finding if isinstance(ending, Forced | Stopped) else None
    if finding is None or (finding.pattern is Pattern.NOT_CONVERGING and attempts):
        return attempts  # the table of rounds says what that finding says, and more
    return (*_evidence_of(finding), *attempts)


def _evidence_of(finding: Finding) -> tuple[str, ...]:
    return tuple(evidence_line(one) for one in finding.evidence)


def evidence_line(evidence: Evidence) -> str:
    """One piece of evidence as people count: turns from 1."""
    call = f", call {evidence.call}" if evidence.call else ""
    return f"turn {evidence.turn + 1}{call}: {evidence.what}"


def _used(meter: Meter, summary: Summary) -> str:
    if meter.kind is LimitKind.COST_USD and summary.usage.unknown_cost_calls:
        return f"cost: {summary.usage.cost_shown}, of {shown(meter.kind, meter.maximum)}"
    name = meter.kind.value.replace("_", " ") if meter.kind is not LimitKind.COST_USD else "cost"
    return f"{name}: {meter.shown} ({meter.percent:g} %)"


def _kept(ending: Ending) -> str:
    match ending:
        case Forced(answer=answer) | Cancelled(answer=answer) | Failed(answer=answer) if _own(answer):
            return f"Kept: all text so far ({len(_own(answer)):,} characters), and the record of every turn."
        case Completed():
            return ""
        case Abandoned(checkpoint=str() as checkpoint):
            return f"Kept: {checkpoint}, and the record of every turn."
        case _:
            return "Kept: the record of every turn."


def _kept_of(session: SessionView, ending: Ending) -> str:
    if session.saved_at is None:
        return _kept(ending)
    return f"Kept: commit {short_commit(session.saved_at)} on {session.branch}, and the record of every turn."


def _own(answer: str) -> str:
    """An answer without what was added to it."""
    return "" if answer == UNABLE_ANSWER else answer.removesuffix(f"\n\n{TRUNCATED_NOTE}")


def _to_do(ending: Ending) -> str:
    match ending:
        case Forced(reason=reason) | Stopped(reason=reason):
            if reason.finding is not None:
                return f"What to do: {reason.finding.advice}"
            if reason.limit is not None:
                return "What to do: give it more budget if it was getting somewhere, or ask for less."
            return ""
        case Abandoned(suggestion=suggestion, next_steps=steps):
            return _advice(suggestion, steps)
        case Failed():
            return "What to do: mend the cause named above, then run it again."
        case _:
            return ""


def _to_do_after(session: SessionView, ending: Ending) -> str:
    """What the session itself advises; what its ending does where it says nothing."""
    end = session.conclusion
    return (end and _advice(end.suggestion, end.next_steps)) or _to_do(ending)


def _advice(suggestion: str, steps: tuple[str, ...]) -> str:
    return "\n".join(line for line in (suggestion, *(f"Next: {step}" for step in steps)) if line)
