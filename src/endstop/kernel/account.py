"""The books of one run or scope: its limits with what was granted, and what is settled and reserved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import inf

from endstop.kernel.amounts import NOTHING, Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.evolve import quick
from endstop.kernel.limits import LimitKind, Number, minus, plus, warning_value

_NO_LIMIT = Decimal("Infinity")
_SHORTLY_BEFORE = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """How far an account can go before there is anything to look at: its limits with grants, without what is
    held back for the closing turn. Infinite where it has no limit.

    Below every mark no limit is reached and none closes in: that is most of a run, and costs a few
    comparisons. At or past a mark the limits themselves are read, and they alone decide.
    """

    turns: float
    model_calls: float
    tokens: float
    cost_usd: Decimal
    context_tokens: float
    seconds: float
    warnings: tuple[tuple[LimitKind, Number], ...]
    """Below these values no warning is due, neither here nor in a scope below."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The books of one run or scope."""

    id: str
    parent: str | None = None
    budget: Budget
    """The limits of this account itself. For a scope: what was carved for it."""
    granted: Amounts = NOTHING
    granted_s: float = 0.0
    settled: Amounts = NOTHING
    reserved: Amounts = NOTHING
    """What may still be spent by calls under way and by open scopes below."""
    overrun: Amounts = NOTHING
    """What was used past a reservation and did not fit any more: not settled, but kept apart, in the open."""
    holds: Mapping[str, Amounts] = field(default_factory=dict[str, Amounts])
    """The open reservations."""
    marks: Marks = field(init=False, repr=False, compare=False)
    """Worked out from the limits and grants: an account with others is made anew, not evolved."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", _marks(self))

    def maximum(self, kind: LimitKind) -> Number | None:
        """The ceiling with grants, or None where this account does not limit the kind."""
        limit = self.budget.limits.get(kind)
        if limit is None:
            return None
        if kind is LimitKind.SECONDS:
            return float(limit.maximum) + self.granted_s
        return limit.maximum if self.granted is NOTHING else plus(limit.maximum, self.granted.of(kind))

    def used(self, kind: LimitKind) -> Number:
        """What is gone: settled, and overrun."""
        settled = self.settled.of(kind)
        return settled if self.overrun is NOTHING else plus(settled, self.overrun.of(kind))

    def left(self, kind: LimitKind, *, keep_finish: bool) -> Number | None:
        """What can still be reserved here; None where this account does not limit the kind."""
        maximum = self.maximum(kind)
        if maximum is None:
            return None
        taken = plus(self.used(kind), self.reserved.of(kind))
        kept = self.budget.finish(kind) if keep_finish else 0
        return max(minus(maximum, plus(taken, kept)), 0)

    def has_room(self, more: Amounts) -> bool:
        """Whether this much more can be reserved below every mark. If not, the limits decide."""
        marks, gone, held = self.marks, self.settled, self.reserved
        return (
            self.overrun is NOTHING
            and (not more.turns or gone.turns + held.turns + more.turns <= marks.turns)
            and (
                not more.model_calls
                or gone.model_calls + held.model_calls + more.model_calls <= marks.model_calls
            )
            and (not more.tokens or gone.tokens + held.tokens + more.tokens <= marks.tokens)
            and (not more.cost_usd or gone.cost_usd + held.cost_usd + more.cost_usd <= marks.cost_usd)
        )

    def is_at_ease(self, *, seconds: float, context_tokens: int) -> bool:
        """Whether all that is spent, passed and measured is below its mark. If not, the limits decide."""
        marks, settled = self.marks, self.settled
        return (
            self.overrun is NOTHING
            and settled.turns < marks.turns
            and settled.model_calls < marks.model_calls
            and settled.tokens < marks.tokens
            and settled.cost_usd < marks.cost_usd
            and seconds < marks.seconds
            and context_tokens < marks.context_tokens
        )


def _marks(account: Account) -> Marks:
    ordinary: dict[LimitKind, Number] = {}
    warnings: list[tuple[LimitKind, Number]] = []
    for kind, limit in account.budget.limits.items():
        maximum = account.maximum(kind)
        assert maximum is not None, "the budget limits this kind"
        ordinary[kind] = minus(maximum, limit.finish)
        threshold = warning_value(ordinary[kind], limit.warn_at)
        if threshold is not None:
            warnings.append((kind, threshold))
    return Marks(
        turns=_count(ordinary.get(LimitKind.TURNS)),
        model_calls=_count(ordinary.get(LimitKind.MODEL_CALLS)),
        tokens=_count(ordinary.get(LimitKind.TOKENS)),
        cost_usd=Decimal(ordinary.get(LimitKind.COST_USD, _NO_LIMIT)),
        context_tokens=_count(ordinary.get(LimitKind.CONTEXT_TOKENS)),
        # Parts of a second do not add up exactly, so the limit itself is looked at a little before.
        seconds=float(ordinary.get(LimitKind.SECONDS, inf)) * _SHORTLY_BEFORE,
        warnings=tuple(warnings),
    )


def _count(limit: Number | None) -> float:
    return inf if limit is None else int(limit)  # whole numbers are compared faster than mixed ones
