"""What a run can use at most, known before it starts (A13). No bound, no run."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from endstop.errors import UnboundedError
from endstop.kernel.budget import Budget
from endstop.kernel.limits import money


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


def upper_bound(budget: Budget, *, with_grants: bool = False) -> UpperBound:
    """The most a run under this budget can use; ``with_grants``, with every grant its cap allows.

    A turn makes at least one model call, a call uses at least one token: so limits bound each other.
    """
    factor = 1 + (budget.grant_cap if with_grants else 0)
    tokens = _scaled(budget.tokens, factor)
    calls = _smallest(_scaled(budget.model_calls, factor), tokens)
    turns = _smallest(_scaled(budget.turns, factor), calls)
    per_turn = budget.tool_calls_per_turn
    return UpperBound(
        turns=turns,
        model_calls=calls if budget.model_calls is not None else _smallest(turns, calls),
        tool_calls=turns * per_turn if turns is not None and per_turn is not None else None,
        tokens=tokens,
        cost_usd=None if budget.cost_usd is None else budget.cost_usd * Decimal(str(factor)),
        seconds=None if budget.seconds is None else budget.seconds * factor,
    )


def require_bounded(budget: Budget) -> UpperBound:
    """The upper bound of a budget, or an error if nothing in it would end a run."""
    bound = upper_bound(budget)
    if not bound.is_bounded:
        only = "only a cost limit, and calls may be free" if budget.cost_usd is not None else "no limit"
        raise UnboundedError(
            f"Nothing in this budget ends a run: it has {only}",
            allowed="a budget with at least one of turns, model_calls, tokens or seconds",
            to_do="Add one, such as Budget(turns=30)",
        )
    return bound


def _scaled(value: int | None, factor: float) -> int | None:
    return None if value is None else int(value * factor)


def _smallest(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)
