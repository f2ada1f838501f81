"""Marks: how far an account can go before any of its limits has to be looked at."""

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


def marks_of(limits: Mapping[LimitKind, Limit], granted: Amounts = NOTHING, granted_s: float = 0.0) -> Marks:
    """The marks of limits with what was granted."""
    ordinary: dict[LimitKind, Number] = {}
    warnings: list[tuple[LimitKind, Number]] = []
    for kind, limit in limits.items():
        more = granted_s if kind is LimitKind.SECONDS else granted.of(kind)
        ordinary[kind] = minus(plus(limit.maximum, more), limit.finish)
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
