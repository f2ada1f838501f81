"""A record as a picture of its budget: what was used when, what was allowed then, and what happened.

Read from the facts by plain addition, like the summary, and with the same figures at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar

from endstop.errors import FactOrderError
from endstop.events.facts import Fact, Payload, RunStarted
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import (
    BudgetGranted,
    CallSettled,
    ChildSettled,
    Observation,
    RunEnded,
    RunPaused,
    RunResumed,
    TurnEnded,
)
from endstop.kernel.verdict import FindingReported, LimitExceeded, LimitWarned

MOST_POINTS = 500
"""More would not be seen on any screen."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedPoint:
    """What was used by then, in all."""

    at_s: float
    """Seconds on the run's clock."""
    seq: int
    turns: int = 0
    tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """None from the first call on whose cost nobody knows."""
    seconds: float = 0.0
    """Without the time spent waiting for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedPoint:
    """What was allowed from then on. None where there is no limit."""

    at_s: float
    turns: int | None
    tokens: int | None
    cost_usd: Decimal | None
    seconds: float | None


class MarkKind(StrEnum):
    WARNING = "warning"
    FINDING = "finding"
    GRANT = "grant"
    LIMIT = "limit"
    PAUSED = "paused"
    RESUMED = "resumed"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened to the budget."""

    at_s: float
    seq: int
    kind: MarkKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Burndown:
    """How a run used its budget up. There is always a first point and a first allowance."""

    run_id: str
    points: tuple[UsedPoint, ...]
    limits: tuple[AllowedPoint, ...]
    """The first, and one more after each grant."""
    marks: tuple[Mark, ...]


def burndown(facts: Iterable[Fact], *, most_points: int = MOST_POINTS) -> Burndown:
    """The burndown of a record, whole or not. The first fact must be ``run.started``."""
    told = iter(facts)
    first = next(told, None)
    if first is None or not isinstance(first.payload, RunStarted):
        raise FactOrderError("The record does not begin with run.started", allowed="run.started first")
    count = _Count(first.payload.config.budget)
    points = [count.point(first.seq)]
    limits = [count.allowed]
    marks: list[Mark] = []
    for fact in told:
        marks += count.mark(fact)
        if count.add(fact.payload):
            points.append(count.point(fact.seq))
        if count.allowed is not limits[-1]:
            limits.append(count.allowed)
    return Burndown(
        run_id=first.run_id,
        points=thinned(points, most_points),
        limits=tuple(limits),
        marks=tuple(marks),
    )


def thinned(values: Sequence[_T], most: int) -> tuple[_T, ...]:
    """At most so many of them, two at least, evenly chosen; the first and the last are always there."""
    if len(values) <= most:
        return tuple(values)
    last, steps = len(values) - 1, max(most, 2) - 1
    return tuple(values[last * step // steps] for step in range(steps + 1))


class _Count:
    """What was used and allowed so far."""

    def __init__(self, budget: Budget) -> None:
        self.allowed = AllowedPoint(
            at_s=0.0,
            turns=budget.turns,
            tokens=budget.tokens,
            cost_usd=budget.cost_usd,
            seconds=budget.seconds,
        )
        self._at_s = 0.0
        self._turns = 0
        self._tokens = 0
        self._cost_usd: Decimal | None = Decimal(0)
        self._waited_s = 0.0
        self._paused_at_s: float | None = None

    def add(self, payload: Payload) -> bool:
        """Count a fact. Whether it is worth a point."""
        if isinstance(payload, Observation):
            self._at_s = payload.at_s
        match payload:
            case CallSettled() as settled:
                self._tokens += settled.input_tokens + settled.output_tokens
                self._cost_usd = _with_cost(self._cost_usd, settled)
            case ChildSettled() as child:
                self._turns += child.turns
                self._tokens += child.input_tokens + child.output_tokens
                if self._cost_usd is not None:
                    known = self._cost_usd + child.known_cost_usd
                    self._cost_usd = None if child.unknown_cost_calls else known
            case TurnEnded():
                self._turns += 1
            case BudgetGranted(at_s=at_s, scope="run", grant=grant):
                self.allowed = _more(self.allowed, grant, at_s)
            case RunPaused(at_s=at_s) if self._paused_at_s is None:
                self._paused_at_s = at_s
            case RunResumed(at_s=at_s) if self._paused_at_s is not None:
                self._waited_s, self._paused_at_s = self._waited_s + at_s - self._paused_at_s, None
            case RunEnded():
                pass
            case _:
                return False
        return True

    def point(self, seq: int) -> UsedPoint:
        until_s = self._at_s if self._paused_at_s is None else self._paused_at_s
        return UsedPoint(
            at_s=self._at_s,
            seq=seq,
            turns=self._turns,
            tokens=self._tokens,
            cost_usd=self._cost_usd,
            seconds=until_s - self._waited_s,
        )

    def mark(self, fact: Fact) -> Iterator[Mark]:
        """What a fact did to the run's own budget: a scope's limits are not the run's."""
        found = _marked(fact.payload)
        if found is not None and getattr(fact.payload, "scope", ROOT) == ROOT:
            kind, text = found
            at_s: float = getattr(fact.payload, "at_s", self._at_s)
            yield Mark(at_s=at_s, seq=fact.seq, kind=kind, text=text)


def _marked(payload: Payload) -> tuple[MarkKind, str] | None:
    match payload:
        case LimitWarned(message=message):
            return MarkKind.WARNING, message
        case LimitExceeded(message=message):
            return MarkKind.LIMIT, message
        case FindingReported(finding=finding):
            return MarkKind.FINDING, finding.message
        case BudgetGranted(grant=grant):
            return MarkKind.GRANT, f"Granted by {grant.by}: {grant.why}"
        case RunPaused(why=why):
            return MarkKind.PAUSED, why
        case RunResumed():
            return MarkKind.RESUMED, "It goes on."
        case RunEnded(outcome=outcome):
            return MarkKind.ENDED, str(outcome)
        case _:
            return None


def _with_cost(known: Decimal | None, settled: CallSettled) -> Decimal | None:
    used_something = settled.model_calls or settled.input_tokens or settled.output_tokens
    if known is None or (settled.cost_usd is None and used_something):
        return None
    return known + (settled.cost_usd or 0)


def _more(allowed: AllowedPoint, grant: Grant, at_s: float) -> AllowedPoint:
    """What is not limited stays so, whatever is granted of it."""
    return AllowedPoint(
        at_s=at_s,
        turns=None if allowed.turns is None else allowed.turns + grant.turns,
        tokens=None if allowed.tokens is None else allowed.tokens + grant.tokens,
        cost_usd=None if allowed.cost_usd is None else allowed.cost_usd + grant.cost_usd,
        seconds=None if allowed.seconds is None else allowed.seconds + grant.seconds,
    )
