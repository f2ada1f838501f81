"""Runs as the interface shows them: in lists, one with all its figures, its facts and what they tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from endstop.events.chunks import granted, percent_of
from endstop.events.explain import evidence_line, explain
from endstop.events.facts import Fact, SourceCited
from endstop.events.plain import written
from endstop.events.reviewing import open_review
from endstop.events.steered import TreeChosen
from endstop.events.summary import Summary, summarise
from endstop.events.timeline import Moment
from endstop.kernel.budget import Budget
from endstop.kernel.finding import Finding
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import Meter
from endstop.kernel.observation import BudgetGranted, SignalGiven
from endstop.kernel.outcome import Forced
from endstop.kernel.review import RunPhase
from endstop.ports import StoredRun
from endstop.runner.owner import is_worked_on


class Given(BaseModel):
    """What a client sends: of the right types, and nothing beside."""

    model_config = ConfigDict(strict=True, extra="forbid")


def moment_of(unix_s: float) -> datetime:
    return datetime.fromtimestamp(unix_s, UTC)


def moment_or_none(unix_s: float | None) -> datetime | None:
    return None if unix_s is None else moment_of(unix_s)


class RunShape(BaseModel):
    """A run, as lists show it."""

    run_id: str = Field(examples=["run_3f9c0a1b2c3d"])
    phase: RunPhase
    is_left_open: bool = Field(description="Its process has died or was told to end: it can be resumed.")
    agent: str
    model: str
    question: str
    project: str | None
    conversation_id: str | None
    facts: int = Field(description="How many facts its record has.")
    turns: int
    tokens: int
    cost_usd: str | None = Field(description="Money as text; null when the cost of some call is unknown.")
    started_at: datetime
    changed_at: datetime
    ended_at: datetime | None
    ending: str | None = Field(description="How it ended, in words.", examples=["completed"])
    exit_code: int | None

    @classmethod
    def of(cls, run: StoredRun, *, now: float, is_inline: bool) -> RunShape:
        """``is_inline``: runs are driven by servers. Where workers do, none is left open: they find it."""
        return cls(**_run_fields(run, now=now, is_inline=is_inline))


def _run_fields(run: StoredRun, *, now: float, is_inline: bool) -> dict[str, Any]:
    is_running = run.phase is RunPhase.RUNNING
    return {
        "run_id": run.run_id,
        "phase": run.phase,
        "is_left_open": is_running and is_inline and not is_worked_on(run, now=now),
        "agent": run.agent,
        "model": run.model,
        "question": run.question,
        "project": run.project,
        "conversation_id": run.conversation_id,
        "facts": run.facts,
        "turns": run.turns,
        "tokens": run.tokens,
        "cost_usd": None if run.cost_usd is None else f"{run.cost_usd:f}",
        "started_at": moment_of(run.started_at),
        "changed_at": moment_of(run.changed_at),
        "ended_at": moment_or_none(run.ended_at),
        "ending": run.ending,
        "exit_code": run.exit_code,
    }


class RunPage(BaseModel):
    """Some runs, newest first."""

    runs: list[RunShape]
    next: str | None = Field(description="Send it as `cursor` for those that follow; null if there are none.")


class MeterShape(BaseModel):
    """What was used of one limit. Money is text."""

    used: int | float | str
    limit: int | float | str
    percent: float
    warn_percent: float | None = Field(description="From here on a warning is due; null for none.")
    reserve: int | float | str | None = Field(
        description="So much of it is held back for the closing turn; null for nothing."
    )

    @classmethod
    def of(cls, meter: Meter, budget: Budget) -> MeterShape:
        limit = budget.limits[meter.kind]
        return cls(
            used=_plain(meter.used),
            limit=_plain(meter.maximum),
            percent=meter.percent,
            warn_percent=None if limit.warn_at is None else percent_of(limit.warn_at),
            reserve=_plain(limit.finish) if limit.finish else None,
        )


class SourceShape(BaseModel):
    """A passage that the answer rests on."""

    title: str
    location: str
    passage: str


class FindingShape(BaseModel):
    """What a detector found."""

    pattern: str
    message: str
    advice: str
    times: int
    evidence: list[str]

    @classmethod
    def of(cls, finding: Finding) -> FindingShape:
        return cls(
            pattern=finding.pattern.value,
            message=finding.message,
            advice=finding.advice,
            times=finding.times,
            evidence=[evidence_line(one) for one in finding.evidence],
        )


class SignalShape(BaseModel):
    """How the agent said it stands."""

    turn: int
    signal_type: str = Field(examples=["need_turn"])
    reason: str | None
    confidence: float


class GrantShape(BaseModel):
    """More budget that it was given."""

    at_s: float = Field(description="Seconds on the run's own clock.")
    added: dict[str, int | float | str] = Field(
        description="By limit, what was added. Money is text.", examples=[{"turns": 10}]
    )
    by: str
    why: str


class RunDetail(RunShape):
    """A run with all its figures."""

    question: str = Field(description="Whole: in lists it is cut.")
    meters: dict[str, MeterShape] = Field(description="By limit: turns, tokens, cost_usd, seconds …")
    outcome: str | None = Field(description="How it ended, in a word; null while it has not.")
    answer: str | None
    is_forced: bool
    warnings: list[str]
    unknown_cost_calls: int
    waits_for: str | None = Field(description="What a person is asked, while it is paused.")
    sources: list[SourceShape]
    findings: list[FindingShape]
    signals: list[SignalShape]
    tree: str | None = Field(description="The name of the tree that steers it; null if none does.")
    reason: str | None = Field(description="Why it ended or is paused, in a sentence; null while it runs.")
    review_id: str | None = Field(description="The review that waits to be decided, if one does.")
    grants: list[GrantShape]

    @classmethod
    def of_record(cls, run: StoredRun, facts: Sequence[Fact], *, now: float, is_inline: bool) -> RunDetail:
        summary = summarise(facts)
        ending = summary.ending
        fields = _run_fields(run, now=now, is_inline=is_inline)
        fields["question"] = summary.question
        payloads = [fact.payload for fact in facts]
        review = open_review(facts) if ending is None else None
        return cls(
            **fields,
            meters={meter.kind.value: MeterShape.of(meter, summary.budget) for meter in summary.meters},
            outcome=None if ending is None else type(ending).__name__.lower(),
            answer=getattr(ending, "answer", None),
            is_forced=isinstance(ending, Forced),
            warnings=list(getattr(ending, "warnings", ())),
            unknown_cost_calls=summary.usage.unknown_cost_calls,
            waits_for=summary.waits_for,
            sources=[
                SourceShape(title=one.title, location=one.location, passage=one.passage)
                for one in payloads
                if isinstance(one, SourceCited)
            ],
            findings=[FindingShape.of(one.finding) for one in summary.findings],
            signals=[
                SignalShape(turn=one.turn, signal_type=one.type, reason=one.reason, confidence=one.confidence)
                for one in payloads
                if isinstance(one, SignalGiven) and one.scope == ROOT
            ],
            tree=next((one.tree for one in payloads if isinstance(one, TreeChosen)), None),
            reason=_reason(summary, facts),
            review_id=None if review is None else review.id,
            grants=[
                GrantShape(
                    at_s=round(one.at_s, 6),
                    added=cast("dict[str, int | float | str]", granted(one.grant)),
                    by=one.grant.by,
                    why=one.grant.why,
                )
                for one in payloads
                if isinstance(one, BudgetGranted) and one.scope == ROOT
            ],
        )


def _reason(summary: Summary, facts: Sequence[Fact]) -> str | None:
    return summary.waits_for if summary.ending is None else explain(facts).why


class FactPage(BaseModel):
    """Some facts of a record, as they are kept."""

    facts: list[dict[str, Any]]
    next_after: int | None = Field(description="Send it as `after` for those that follow; null at the end.")


class MomentShape(BaseModel):
    """One line of the timeline."""

    seq: int
    time: datetime
    at_s: float = Field(description="Seconds on the run's own clock.")
    scope: str
    turn: int | None
    type: str
    severity: str
    title: str
    detail: str

    @classmethod
    def of(cls, moment: Moment) -> MomentShape:
        return cls(
            seq=moment.seq,
            time=moment_of(moment.time),
            at_s=round(moment.at_s, 6),
            scope=moment.scope,
            turn=moment.turn,
            type=moment.type,
            severity=moment.severity.value,
            title=moment.title,
            detail=moment.detail,
        )


class CheckShape(BaseModel):
    """One promise, and whether the record shows that it was kept."""

    name: str
    holds: bool
    detail: str


class AuditShape(BaseModel):
    """Proof, from the record alone."""

    run_id: str
    holds: bool
    checks: list[CheckShape]


class ExplanationShape(BaseModel):
    """Why it stopped, in plain words."""

    headline: str
    why: str
    evidence: list[str]
    spent: list[str]
    kept: str
    to_do: str


def _plain(value: object) -> Any:
    return round(value, 3) if isinstance(value, float) else written(value)
