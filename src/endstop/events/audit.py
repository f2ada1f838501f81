"""The audit: proof, from the record alone, that a run kept its promises (A14).

Limits are checked by plain addition over the facts, apart from the ledger that enforced them; then the whole
record is replayed, and everything the governor noticed must come out the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import assert_never

from endstop.errors import RecordError
from endstop.events.codec import require_next
from endstop.events.facts import Fact, RunStarted
from endstop.events.rejudge import difference_on_replay
from endstop.events.summary import summarise
from endstop.kernel.amounts import NOTHING, SPENT_KINDS, Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.detectors import Detector
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind, plus, shown
from endstop.kernel.observation import (
    BudgetGranted,
    CallReserved,
    CallSettled,
    ChildSettled,
    Observation,
    RunEnded,
    ScopeEnded,
    ScopeOpened,
    ToolCalled,
    ToolFinished,
    TurnStarted,
    used_amounts,
)

TIME_TOLERANCE_S = 0.5
"""From a time limit to the end of a run there may be this much: a stop has to be carried out, too (A11)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One promise, and whether the record shows that it was kept."""

    name: str
    holds: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found. ``bool()`` of it is whether everything holds."""

    run_id: str
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        lines = [f"Audit of run {self.run_id}: {'holds' if self.holds else 'does not hold'}"]
        lines += [
            f"  {'holds' if check.holds else 'BROKEN'}  {check.name}"
            + (f": {check.detail}" if check.detail else "")
            for check in self.checks
        ]
        return "\n".join(lines)


def audit(facts: Iterable[Fact], *, detectors: Iterable[Detector] | None = None) -> Audit:
    """Audit a record. ``detectors`` must be given again if the run used its own."""
    record = tuple(facts)
    checks = [_order(record)]
    if checks[0].holds:
        checks += [_one_ending(record), _calls_answered(record), _within_limits(record), _within_time(record)]
        checks.append(_same_again(record, tuple(detectors) if detectors is not None else None))
    return Audit(run_id=record[0].run_id if record else "?", checks=tuple(checks))


def _order(record: Sequence[Fact]) -> Check:
    name = "the record is whole and in order"
    previous: Fact | None = None
    for fact in record:
        try:
            require_next(previous, fact)
        except RecordError as error:
            return Check(name=name, holds=False, detail=str(error))
        previous = fact
    starts = sum(isinstance(fact.payload, RunStarted) for fact in record)
    if not record or starts != 1 or not isinstance(record[0].payload, RunStarted):
        return Check(name=name, holds=False, detail=f"it must begin with run.started, once; found {starts}")
    return Check(name=name, holds=True, detail=_counted(len(record), "fact"))


def _one_ending(record: Sequence[Fact]) -> Check:
    name = "exactly one ending, and nothing after it"
    endings = [fact.seq for fact in record if isinstance(fact.payload, RunEnded)]
    holds = endings == [record[-1].seq]
    detail = "" if holds else f"run.ended at {endings or 'no place'}, the last fact is {record[-1].seq}"
    return Check(name=name, holds=holds, detail=detail)


def _calls_answered(record: Sequence[Fact]) -> Check:
    name = "every tool call has exactly one result"
    unanswered: dict[tuple[str, str], int] = {}
    answered: set[tuple[str, str]] = set()
    problems: list[str] = []
    for fact in record:
        match fact.payload:
            case ToolCalled(scope=scope, call=call):
                if (scope, call) in unanswered or (scope, call) in answered:
                    problems.append(f"{call} was called twice")
                unanswered[scope, call] = fact.seq
            case ToolFinished(scope=scope, call=call):
                if unanswered.pop((scope, call), None) is None:
                    problems.append(f"{call} has a result too many")
                answered.add((scope, call))
            case ScopeOpened(scope=scope):
                answered -= {one for one in answered if one[0] == scope}  # it counts its calls anew
            case _:
                pass
    problems += [f"{call} has no result" for _, call in unanswered]
    detail = "; ".join(problems[:5]) if problems else _counted(len(answered), "call")
    return Check(name=name, holds=not problems, detail=detail)


@dataclass
class _Sums:
    """What one scope was allowed, what it has used, and what is set aside, added up from the facts."""

    budget: Budget
    parent: str | None = None
    granted: Amounts = NOTHING
    granted_s: float = 0.0
    used: Amounts = NOTHING
    reserved: dict[tuple[str, str], Amounts] = field(default_factory=dict[tuple[str, str], Amounts])

    def broken(self) -> str | None:
        taken = self.used
        for amounts in self.reserved.values():
            taken = taken.plus(amounts)
        for kind in SPENT_KINDS:
            maximum = self.budget.maximum(kind)
            if maximum is not None and taken.of(kind) > plus(maximum, self.granted.of(kind)):
                allowed = shown(kind, plus(maximum, self.granted.of(kind)))
                return f"{shown(kind, taken.of(kind))} {kind.value} of {allowed}"
        return None


def _within_limits(record: Sequence[Fact]) -> Check:
    name = "spending never passed limit plus grants"
    books: dict[str, _Sums] = {}
    for fact in record:
        problem = _misplaced(books, fact)
        if problem is not None:
            return Check(name=name, holds=False, detail=f"{problem} at fact {fact.seq}")
        touched = _entered(books, fact)
        for scope in touched:
            problem = books[scope].broken()
            if problem is not None:
                return Check(name=name, holds=False, detail=f"{problem} in {scope!r} at fact {fact.seq}")
    used = books[ROOT].used
    detail = (
        f"{_counted(used.turns, 'turn')}, {_counted(used.tokens, 'token')}, "
        f"{shown(LimitKind.COST_USD, used.cost_usd)} known cost"
    )
    return Check(name=name, holds=True, detail=detail)


def _misplaced(books: dict[str, _Sums], fact: Fact) -> str | None:
    """What is wrong with the scope of a fact, if it is not open, or opened where it cannot be."""
    payload = fact.payload
    if isinstance(payload, ScopeOpened):
        if payload.scope in books:
            return f"{payload.scope!r} was opened while it was open"
        return None if payload.parent in books else f"{payload.parent!r}, the parent, is not open"
    if isinstance(payload, Observation) and payload.scope not in books:
        return f"{payload.scope!r} is not open"
    return None


def _entered(books: dict[str, _Sums], fact: Fact) -> list[str]:
    """Add one fact to the books of its scope and all above; the scopes it touched."""
    payload = fact.payload
    if isinstance(payload, RunStarted):
        books[ROOT] = _Sums(budget=payload.config.budget)
        return []
    if isinstance(payload, ScopeOpened):
        books[payload.scope] = _Sums(budget=payload.budget, parent=payload.parent)
        return []
    if isinstance(payload, ScopeEnded):
        del books[payload.scope]
        return []
    if isinstance(payload, BudgetGranted):
        own = books[payload.scope]
        own.granted = own.granted.plus(payload.grant.amounts)
        own.granted_s += payload.grant.seconds
        return []
    if not isinstance(payload, TurnStarted | CallReserved | CallSettled | ChildSettled):
        return []
    lineage = _lineage(books, payload.scope)
    for scope in lineage:
        sums = books[scope]
        match payload:
            case TurnStarted():
                sums.used = sums.used.plus(Amounts(turns=1))
            case CallReserved(reservation=reservation, amounts=amounts):
                sums.reserved[payload.scope, reservation] = amounts
            case CallSettled(reservation=reservation, is_final=is_final):
                used = used_amounts(payload, payload.cost_usd or Decimal(0))
                sums.used = sums.used.plus(used)
                held = sums.reserved.pop((payload.scope, reservation), NOTHING)
                if not is_final:
                    sums.reserved[payload.scope, reservation] = held.minus(used)
            case ChildSettled(reservation=reservation):
                sums.used = sums.used.plus(payload.amounts)
                sums.reserved.pop((payload.scope, reservation), None)
            case _:
                assert_never(payload)
    return lineage


def _lineage(books: dict[str, _Sums], scope: str) -> list[str]:
    lineage = [scope]
    while (parent := books[lineage[-1]].parent) is not None:
        lineage.append(parent)
    return lineage


def _within_time(record: Sequence[Fact]) -> Check:
    name = "it ended within its time"
    summary = summarise(record)
    if summary.budget.seconds is None:
        return Check(name=name, holds=True, detail="no time limit was set")
    allowed = summary.budget.seconds + summary.granted_s
    over = summary.usage.seconds - allowed
    if over <= TIME_TOLERANCE_S:
        return Check(name=name, holds=True, detail=f"{summary.usage.seconds:.1f} of {allowed:g} s")
    return Check(name=name, holds=False, detail=f"{over:.1f} s over its {allowed:g} s")


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _same_again(record: Sequence[Fact], detectors: tuple[Detector, ...] | None) -> Check:
    problem = difference_on_replay(record, detectors)
    return Check(
        name="replaying the record gives the same verdicts", holds=problem is None, detail=problem or ""
    )
