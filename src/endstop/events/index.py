"""What lists of runs, reviews and grants show, worked out from the facts as they are appended.

Every store keeps the same index, because all of them get it from here: ``index`` takes what was known of
a run and the facts that follow, and tells what is known now. Nothing in the index is a truth of its own; it
can be made anew from the records at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, assert_never

from endstop.errors import FactOrderError
from endstop.events.codec import require_next
from endstop.events.facts import Fact, ReviewDecided, ReviewRequested, RunStarted, UserAwaited
from endstop.kernel.budget import Grant
from endstop.kernel.evolve import evolve, quick
from endstop.kernel.observation import (
    BudgetGranted,
    CallSettled,
    ChildSettled,
    RunEnded,
    RunResumed,
    TurnStarted,
    UserSaid,
)
from endstop.kernel.outcome import exit_code
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review, ReviewDecision, RunPhase

MOST_CHARS = 1_000
"""Questions and endings are cut to this in the index, which is written again with every append."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RunIndex:
    """One run, as far as its facts tell. The fields are those of ``StoredRun``."""

    run_id: str
    phase: RunPhase = RunPhase.RUNNING
    user: str | None = None
    project: str | None = None
    agent: str = ""
    model: str = ""
    question: str = ""
    facts: int = 0
    turns: int = 0
    tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """None from the first call on whose cost nobody knows."""
    started_at: float
    changed_at: float
    ended_at: float | None = None
    ending: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOpened:
    """Somebody is asked to decide."""

    review: Review
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewClosed:
    """Somebody decided: ``approved``, ``needs_changes`` or ``rejected``."""

    review_id: str
    decision: str
    by: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantEntered:
    """More budget. ``amounts`` has only what was granted, as text: ``{"turns": "10"}``."""

    seq: int
    by: str
    why: str
    amounts: Mapping[str, str]
    at: float


IndexEntry = ReviewOpened | ReviewClosed | GrantEntered


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexChange:
    """What an append makes of the index: the run as it is now, and entries to add, in order."""

    run: RunIndex
    entries: tuple[IndexEntry, ...] = ()


def index(before: RunIndex | None, facts: Sequence[Fact]) -> IndexChange:
    """What is known after ``facts``, which follow what ``before`` stands for; None for a new run.

    Raises ``FactOrderError`` if a new record does not begin with ``run.started``.
    """
    run = _begun(facts[0]) if before is None else before
    changes: dict[str, Any] = {"facts": facts[-1].seq + 1, "changed_at": facts[-1].time}
    entries: list[IndexEntry] = []
    for fact in facts:
        if type(fact.payload) in _TELLING:
            changes.update(_changed(run, changes, fact))
            entries.extend(_entry(fact))
    return IndexChange(run=evolve(run, **changes), entries=tuple(entries))


def require_one_append(facts: Sequence[Fact]) -> None:
    """Raise ``FactOrderError`` unless these facts belong to one run and follow each other."""
    previous: Fact | None = None
    for fact in facts:
        if previous is not None:
            require_next(previous, fact)
        elif fact.seq < 0:
            raise FactOrderError(f"A fact has the number {fact.seq}", allowed="0 or more")
        previous = fact


def decision_word(decision: ReviewDecision) -> str:
    """How lists call a decision."""
    match decision:
        case Approved():
            return "approved"
        case NeedsChanges():
            return "needs_changes"
        case Rejected():
            return "rejected"
        case _:
            assert_never(decision)


def granted_amounts(grant: Grant) -> Mapping[str, str]:
    """What a grant gives, as text: only what is more than nothing."""
    given: Iterable[tuple[str, int | Decimal | float]] = (
        ("turns", grant.turns),
        ("model_calls", grant.model_calls),
        ("tokens", grant.tokens),
        ("cost_usd", grant.cost_usd),
        ("seconds", grant.seconds),
    )
    return MappingProxyType({name: _plain(amount) for name, amount in given if amount})


def _plain(amount: float | Decimal) -> str:
    """Without an exponent, and without places that say nothing: 30 s are "30"."""
    if isinstance(amount, float):
        return str(int(amount)) if amount.is_integer() else repr(amount)
    return f"{amount:f}" if isinstance(amount, Decimal) else str(amount)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 1]}…"


def _begun(fact: Fact) -> RunIndex:
    started = fact.payload
    if not isinstance(started, RunStarted):
        raise FactOrderError(
            f"The record of {fact.run_id!r} begins with {fact.type}",
            allowed="run.started as the first fact",
            to_do="Append the facts of a run from the first one on",
        )
    return RunIndex(
        run_id=fact.run_id,
        user=started.user,
        project=started.project,
        agent=started.agent,
        model=started.model,
        question=_cut(started.question),
        started_at=fact.time,
        changed_at=fact.time,
    )


def _changed(run: RunIndex, changes: Mapping[str, Any], fact: Fact) -> dict[str, Any]:
    """The fields of the index that a fact changes, on top of what those before it changed."""

    def now(name: str) -> Any:
        return changes[name] if name in changes else getattr(run, name)

    match fact.payload:
        case TurnStarted():
            return {"turns": now("turns") + 1}
        case CallSettled() as settled:
            tokens = settled.input_tokens + settled.output_tokens
            return {"tokens": now("tokens") + tokens, "cost_usd": _cost(now("cost_usd"), settled)}
        case ChildSettled(turns=turns, input_tokens=read, output_tokens=wrote) as child:
            known = None if child.unknown_cost_calls else now("cost_usd")
            return {
                "turns": now("turns") + turns,
                "tokens": now("tokens") + read + wrote,
                "cost_usd": None if known is None else known + child.known_cost_usd,
            }
        case ReviewRequested():
            return _phase(now("phase"), RunPhase.BUDGET_REVIEW)
        case UserAwaited():
            return _phase(now("phase"), RunPhase.AWAIT_USER)
        case ReviewDecided(scope="run", decision=Rejected()):
            return {}  # its ending comes next; a scope that is rejected ends alone, and the run goes on
        case ReviewDecided() | RunResumed():
            return _phase(now("phase"), RunPhase.RUNNING)
        case UserSaid() if now("phase") is RunPhase.AWAIT_USER:
            return {"phase": RunPhase.RUNNING}  # an answer; a message decides no review
        case RunEnded(outcome=outcome):
            return {
                "phase": RunPhase.ENDED,
                "ended_at": fact.time,
                "ending": _cut(str(outcome)),
                "exit_code": exit_code(outcome),
            }
        case _:
            return {}


def _phase(now: RunPhase, following: RunPhase) -> dict[str, Any]:
    """An ending is final: nothing leads out of it."""
    return {} if now is RunPhase.ENDED else {"phase": following}


def _cost(known: Decimal | None, settled: CallSettled) -> Decimal | None:
    used_something = settled.model_calls or settled.input_tokens or settled.output_tokens
    if known is None or (settled.cost_usd is None and used_something):
        return None
    return known + (settled.cost_usd or 0)


def _entry(fact: Fact) -> tuple[IndexEntry, ...]:
    """What a fact adds to the lists of reviews and grants."""
    match fact.payload:
        case ReviewRequested(review=review):
            return (ReviewOpened(review=review, at=fact.time),)
        case ReviewDecided(review_id=review_id, decision=decision, by=by):
            word = decision_word(decision)
            return (ReviewClosed(review_id=review_id, decision=word, by=by, at=fact.time),)
        case BudgetGranted(grant=grant):
            amounts = granted_amounts(grant)
            return (GrantEntered(seq=fact.seq, by=grant.by, why=grant.why, amounts=amounts, at=fact.time),)
        case _:
            return ()


_TELLING = frozenset(
    {
        TurnStarted,
        CallSettled,
        ChildSettled,
        ReviewRequested,
        ReviewDecided,
        BudgetGranted,
        UserAwaited,
        UserSaid,
        RunResumed,
        RunEnded,
    }
)
"""The kinds of facts that change the index; most do not, and are passed over."""
