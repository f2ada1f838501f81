"""Marks: how far an account can go before any of its limits, or their warnings, has to be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import inf

from endstop.kernel.amounts import NOTHING, Amounts
from endstop.kernel.limits import Limit, LimitKind, Number, minus, plus, warning_value

_NO_LIMIT = Decimal("Infinity")
_SHORTLY_BEFORE = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """A value of each thing that is limited. Infinite where nothing is.

    Below every mark there is nothing to look at: that is most of a run, and costs a few comparisons. At or
    past a mark the limits themselves are read, and they alone decide.
    """

    turns: float
    model_calls: float
    tokens: float
    cost_usd: Decimal
    context_tokens: float
    seconds: float


def ordinary_marks(
    limits: Mapping[LimitKind, Limit], granted: Amounts = NOTHING, granted_s: float = 0.0
) -> Marks:
    """Below these no limit is reached and none closes in: the limits with grants, without what is held back
    for the closing turn."""
    return _marks(_ordinary(limits, granted, granted_s))


def warning_marks(
    limits: Mapping[LimitKind, Limit], granted: Amounts = NOTHING, granted_s: float = 0.0
) -> Marks:
    """Below these no warning is due, neither in the account nor in a scope below it."""
    ordinary = _ordinary(limits, granted, granted_s)
    thresholds = {kind: warning_value(most, limits[kind].warn_at) for kind, most in ordinary.items()}
    return _marks({kind: value for kind, value in thresholds.items() if value is not None})


def _ordinary(
    limits: Mapping[LimitKind, Limit], granted: Amounts, granted_s: float
) -> dict[LimitKind, Number]:
    return {
        kind: minus(
            plus(limit.maximum, granted_s if kind is LimitKind.SECONDS else granted.of(kind)), limit.finish
        )
        for kind, limit in limits.items()
    }


def _marks(values: Mapping[LimitKind, Number]) -> Marks:
    return Marks(
        turns=_count(values.get(LimitKind.TURNS)),
        model_calls=_count(values.get(LimitKind.MODEL_CALLS)),
        tokens=_count(values.get(LimitKind.TOKENS)),
        cost_usd=Decimal(values.get(LimitKind.COST_USD, _NO_LIMIT)),
        context_tokens=_count(values.get(LimitKind.CONTEXT_TOKENS)),
        # Parts of a second do not add up exactly, so the limit itself is looked at a little before.
        seconds=float(values.get(LimitKind.SECONDS, inf)) * _SHORTLY_BEFORE,
    )


def _count(limit: Number | None) -> float:
    return inf if limit is None else int(limit)  # whole numbers are compared faster than mixed ones
