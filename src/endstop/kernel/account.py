"""The books of one run or scope: its limits with what was granted, and what is settled and reserved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from endstop.kernel.amounts import NOTHING, Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.evolve import quick
from endstop.kernel.limits import LimitKind, Number, minus, plus
from endstop.kernel.marks import Marks, ordinary_marks, warning_marks


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
    warning_marks: Marks = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        marks, warnings = self.budget.marks, self.budget.warning_marks
        if self.granted is not NOTHING or self.granted_s:
            marks = ordinary_marks(self.budget.limits, self.granted, self.granted_s)
            warnings = warning_marks(self.budget.limits, self.granted, self.granted_s)
        object.__setattr__(self, "marks", marks)
        object.__setattr__(self, "warning_marks", warnings)

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

    def is_below(self, marks: Marks, seconds: float, context_tokens: int) -> bool:
        """Whether all that is spent, passed and measured is below its mark. If not, the limits decide."""
        settled = self.settled
        return (
            self.overrun is NOTHING
            and settled.turns < marks.turns
            and settled.model_calls < marks.model_calls
            and settled.tokens < marks.tokens
            and settled.cost_usd < marks.cost_usd
            and seconds < marks.seconds
            and context_tokens < marks.context_tokens
        )
