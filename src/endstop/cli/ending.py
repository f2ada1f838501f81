"""How a run came out: which rule ended it, what it spent, what was kept, whether its audit holds."""

from __future__ import annotations

from typing import assert_never

from endstop.cli.meters import drawn_meters, meters_json, meters_line
from endstop.cli.output import Output
from endstop.cli.texts import count
from endstop.events.audit import Audit
from endstop.events.summary import summarise
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LIMIT_FACTS, LimitKind
from endstop.kernel.observation import TurnStarted
from endstop.kernel.outcome import (
    TRUNCATED_NOTE,
    UNABLE_ANSWER,
    Abandoned,
    AwaitingUser,
    Cancelled,
    Completed,
    Failed,
    Forced,
    Outcome,
    Stopped,
    StopReason,
    UnderReview,
    exit_code,
)
from endstop.runner import Run


def rule_shown(run: Run) -> str:
    """The rule that ended a run, in a few words."""
    outcome = run.outcome
    match outcome:
        case None:
            return "left open"
        case Completed(warnings=()):
            return "finished"
        case Completed():
            limit = _closing_limit(run)
            return "finished, with a warning" if limit is None else f"{_limit_words(limit)}, with an answer"
        case Forced(reason=reason) | Stopped(reason=reason):
            return _rule(reason)
        case Failed(code=code):
            return f"failed: {code.replace('_', ' ')}"
        case Abandoned():
            return "abandoned"
        case Cancelled(by=by):
            return f"cancelled by {by}"
        case UnderReview():
            return "paused for review"
        case AwaitingUser():
            return "waits for an answer"
        case _:
            assert_never(outcome)


def _rule(reason: StopReason) -> str:
    return reason.rule.value.replace("_", " ") if reason.limit is None else _limit_words(reason.limit)


def _limit_words(limit: LimitKind) -> str:
    return f"{LIMIT_FACTS[limit].word} limit"


def _closing_limit(run: Run) -> LimitKind | None:
    """The limit that made the last turn the last one, if one did."""
    turns = (fact.payload for fact in reversed(run.facts) if isinstance(fact.payload, TurnStarted))
    return next((turn.closing for turn in turns if turn.scope == ROOT), None)


def kept_shown(run: Run) -> str:
    """What was kept of a run, in a few words."""
    if isinstance(run.outcome, Completed):
        return f"its answer ({count(len(run.answer), 'character')})"
    kept = run.explain().kept.removeprefix("Kept: ").rstrip(".")
    return kept or "the record of every turn"


def kept_chars(run: Run) -> int:
    """How much of the model's own text was kept: without what was added to it."""
    answer = run.answer
    return 0 if answer == UNABLE_ANSWER else len(answer.removesuffix(f"\n\n{TRUNCATED_NOTE}"))


def code_of(outcome: Outcome | None) -> int:
    """The exit code of an outcome; of a run that was left open, that of a pause."""
    return 6 if outcome is None else exit_code(outcome)


def tell_ending(output: Output, run: Run, checked: Audit | None) -> None:
    """Print how a run came out."""
    summary = summarise(run.facts)
    pairs = [
        ("ended by", rule_shown(run)),
        ("why", str(run.outcome) if run.outcome is not None else "its process was told to end"),
    ]
    if not output.is_terminal:
        pairs.append(("spent", meters_line(summary.meters, summary.usage) or str(summary.usage)))
    pairs.append(("kept", kept_shown(run)))
    pairs.append(("audit", audit_shown(checked)))
    pairs.append(("run", run.id))
    output.pairs(pairs, indent="  ")
    if output.is_terminal:
        output.draw(drawn_meters(summary.meters, output.console.width, summary.usage))


def audit_shown(checked: Audit | None) -> str:
    if checked is None:
        return "not yet: it has not ended"
    broken = [f"{check.name} ({check.detail})" for check in checked.checks if not check.holds]
    return "BROKEN: " + "; ".join(broken) if broken else f"holds ({len(checked.checks)} checks)"


def ending_json(run: Run, checked: Audit | None) -> dict[str, object]:
    """How a run came out, for programs."""
    summary = summarise(run.facts)
    return {
        "run": run.id,
        "outcome": "left_open" if run.outcome is None else type(run.outcome).__name__.lower(),
        "ended_by": rule_shown(run),
        "why": None if run.outcome is None else str(run.outcome),
        "answer": run.answer,
        "spent": meters_json(summary.meters),
        "unknown_cost_calls": summary.usage.unknown_cost_calls,
        "kept": kept_shown(run),
        "audit_holds": None if checked is None else checked.holds,
        "exit_code": code_of(run.outcome),
    }
