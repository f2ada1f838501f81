"""A limit: one ceiling over one thing a run can use, and a meter that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias, cast

from endstop.errors import USE_ALLOWED, InvalidValueError
from endstop.kernel.evolve import quick

Number: TypeAlias = int | float | Decimal
"""Whole numbers for things that are counted, Decimal for money, float for seconds."""


class LimitKind(StrEnum):
    """What can be limited, in the order in which limits win (A12). The first four are spent."""

    TURNS = "turns"
    MODEL_CALLS = "model_calls"
    TOKENS = "tokens"
    COST_USD = "cost_usd"
    CONTEXT_TOKENS = "context_tokens"
    SECONDS = "seconds"
    TOOL_CALLS_PER_TURN = "tool_calls_per_turn"
    PARALLEL_TOOLS = "parallel_tools"

    __hash__ = str.__hash__  # an enum's own is a Python function, and these are looked up all the time


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFacts:
    """What is true of a kind of limit, whoever sets it."""

    word: str
    """What people call it in a sentence: "Approaching iteration limit (7/10)"."""
    smallest: Number
    largest: Number
    default_warn_at: float | None = None


LIMIT_FACTS = MappingProxyType(
    {
        LimitKind.TURNS: LimitFacts(word="iteration", smallest=1, largest=1_000_000, default_warn_at=0.70),
        LimitKind.MODEL_CALLS: LimitFacts(word="model call", smallest=1, largest=1_000_000),
        LimitKind.TOKENS: LimitFacts(word="token", smallest=1, largest=10**12, default_warn_at=0.80),
        LimitKind.COST_USD: LimitFacts(word="cost", smallest=Decimal("0.000001"), largest=Decimal(10**6)),
        LimitKind.CONTEXT_TOKENS: LimitFacts(word="context", smallest=1, largest=10**9, default_warn_at=0.70),
        LimitKind.SECONDS: LimitFacts(word="time", smallest=0.001, largest=366 * 86_400.0),
        LimitKind.TOOL_CALLS_PER_TURN: LimitFacts(word="tool calls per turn", smallest=1, largest=10_000),
        LimitKind.PARALLEL_TOOLS: LimitFacts(word="parallel tool", smallest=1, largest=1_000),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One ceiling: at most ``maximum`` of ``kind``, with a warning at a fraction of it."""

    kind: LimitKind
    maximum: Number
    warn_at: float | None = None
    finish: Number = 0
    """What is held back of it for the closing turn."""

    @property
    def warning_value(self) -> Number | None:
        """The value at which the warning is due: ``int(maximum * warn_at)`` for counted things."""
        return warning_value(self.maximum, self.warn_at)


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """How one limit stands: what was used of what may be used, grants included."""

    kind: LimitKind
    used: Number
    maximum: Number
    warn_at: float | None = None
    finish: Number = 0
    """What is held back for the closing turn."""
    owner: str = "run"
    """The account whose limit this is: the scope's own, or an ancestor's that binds it."""

    @property
    def remaining(self) -> Number:
        return max(minus(self.maximum, self.used), 0)

    @property
    def percent(self) -> float:
        return round(float(self.used) / float(self.maximum) * 100, 1) if self.maximum else 100.0

    @property
    def is_warning_due(self) -> bool:
        threshold = warning_value(self.maximum, self.warn_at)
        return threshold is not None and self.used >= threshold

    @property
    def is_reached(self) -> bool:
        return self.used >= self.maximum

    @property
    def is_last(self) -> bool:
        """Nothing is left for ordinary turns: what remains belongs to the closing turn."""
        return not self.is_reached and plus(self.used, self.finish) >= self.maximum and bool(self.finish)

    @property
    def shown(self) -> str:
        """ "7/10", "160,000/200,000", "$0.40/$0.50", "61 s/60 s"."""
        return f"{shown(self.kind, self.used)}/{shown(self.kind, self.maximum)}"


def plus(first: Number, second: Number) -> Number:
    """The sum of two amounts of one kind (or of nothing at all)."""
    return cast("int", first) + cast("int", second)  # of one kind: both counts, both money or both time


def minus(first: Number, second: Number) -> Number:
    """The difference of two amounts of one kind."""
    return cast("int", first) - cast("int", second)


def warning_value(maximum: Number, warn_at: float | None) -> Number | None:
    if warn_at is None:
        return None
    if isinstance(maximum, Decimal):
        return maximum * Decimal(str(warn_at))
    product = maximum * warn_at
    return int(product) if isinstance(maximum, int) else product


def shown(kind: LimitKind, value: Number) -> str:
    """A value of this kind as people write it."""
    if kind is LimitKind.COST_USD:
        return f"${money(Decimal(value))}"
    if kind is LimitKind.SECONDS:
        return f"{_seconds_shown(float(value))} s"
    return f"{value:,}"


def _seconds_shown(value: float) -> str:
    """Rounded down, so that a limit not reached never reads as reached; and never zero for what is not."""
    if value >= 100 or value == int(value):
        return f"{int(value):,}"
    return f"{int(value * 10) / 10:.1f}" if value >= 0.1 else f"{max(value, 0.001):.3f}".rstrip("0")


def money(value: Decimal) -> str:
    """Dollars with at least two places, up to six below one dollar, and never "0.00" for what is not zero."""
    if value and abs(value) < Decimal("0.000001"):
        return f"{value:f}"
    whole_part, _, places = f"{value:,.{2 if abs(value) >= 1 else 6}f}".partition(".")
    return f"{whole_part}.{places.rstrip('0').ljust(2, '0')}"


def whole(field: str, value: object, *, smallest: int, largest: int, to_do: str = USE_ALLOWED) -> int:
    """``value`` if it is a whole number within bounds; a clear error if not."""
    if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
        raise InvalidValueError(
            field, value, allowed=f"a whole number from {smallest:,} to {largest:,}", to_do=to_do
        )
    return value


def fraction(field: str, value: object, *, largest: float = 1.0, to_do: str = USE_ALLOWED) -> float:
    """``value`` if it is a number from 0 to ``largest``; a clear error if not (NaN included)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= largest:
        raise InvalidValueError(field, value, allowed=f"a number from 0 to {largest:g}", to_do=to_do)
    return float(value)


def words(field: str, value: object, *, may_be_empty: bool = False) -> str:
    """``value`` if it is text that says something; a clear error if not."""
    if not isinstance(value, str) or not (may_be_empty or value.strip()):
        raise InvalidValueError(field, value, allowed="text" if may_be_empty else "text that is not empty")
    return value
