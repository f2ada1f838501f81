"""What a run can use at most, known before it starts (A13). No bound, no run."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from endstop.errors import UnboundedError
from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind, money, plus


@dataclass(frozen=True, slots=True, kw_only=True)
class UpperBound:
    """At most so much of each; None where nothing bounds it."""

    turns: int | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    cost_usd: Decimal | None = None
    seconds: float | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether the run ends whatever its model does. Money alone does not: calls may be free."""
        return any(bound is not None for bound in (self.turns, self.seconds))

    def __str__(self) -> str:
        parts = [
            f"{name} {'unbounded' if value is None else f'≤ {value:,}'}"
            for name, value in (
                ("turns", self.turns),
                ("model calls", self.model_calls),
                ("tool calls", self.tool_calls),
                ("tokens", self.tokens),
            )
        ]
        parts.append("cost unbounded" if self.cost_usd is None else f"cost ≤ ${money(self.cost_usd)}")
        parts.append("time unbounded" if self.seconds is None else f"time ≤ {self.seconds:,g} s")
        return ", ".join(parts)


def upper_bound(budget: Budget, *, with_grants: bool = False, calls_per_turn: int | None = 1) -> UpperBound:
    """The most a run under this budget can use; ``with_grants``, with every grant its cap allows.

    ``calls_per_turn`` is how many model calls its driver makes in a turn: one, as the guard counts it, or
    None if nobody knows. A call counts as one token at least: so limits bound each other.
    """
    tokens = _most(budget, LimitKind.TOKENS, with_grants)
    calls = _smallest(_most(budget, LimitKind.MODEL_CALLS, with_grants), tokens)
    turns = _most(budget, LimitKind.TURNS, with_grants)
    if calls_per_turn is not None:
        turns = _smallest(turns, calls)
        calls = _smallest(calls, None if turns is None else turns * calls_per_turn)
    per_turn = budget.tool_calls_per_turn
    return UpperBound(
        turns=turns,
        model_calls=calls,
        tool_calls=turns * per_turn if turns is not None and per_turn is not None else None,
        tokens=tokens,
        cost_usd=_most(budget, LimitKind.COST_USD, with_grants),
        seconds=_most(budget, LimitKind.SECONDS, with_grants),
    )


def require_bounded(budget: Budget) -> UpperBound:
    """The upper bound of a budget, or an error if nothing in it would end a run."""
    bound = upper_bound(budget)
    if not bound.is_bounded:
        only = _too_little(budget)
        raise UnboundedError(
            f"Nothing in this budget ends a run: it has {only}",
            allowed="a budget with at least one of turns, model_calls, tokens or seconds",
            to_do="Add one, such as Budget(turns=30)",
        )
    return bound


def _too_little(budget: Budget) -> str:
    if budget.cost_usd is not None:
        return "only a cost limit, and calls may be free"
    kinds = ", ".join(limit.kind for limit in budget)
    return f"only {kinds}, which ends nothing" if kinds else "no limit"


def _most(budget: Budget, kind: LimitKind, with_grants: bool) -> Any:
    maximum = budget.maximum(kind)
    if maximum is None or not with_grants:
        return maximum
    return plus(maximum, budget.most_granted(kind))


def _smallest(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)
