"""Amounts of what is spent: turns, model calls, tokens, dollars. The unit of every entry in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation

from endstop.errors import USE_ALLOWED, InvalidValueError
from endstop.kernel.evolve import draft_class, quick
from endstop.kernel.limits import LimitKind, Number, whole

SPENT_KINDS = (LimitKind.TURNS, LimitKind.MODEL_CALLS, LimitKind.TOKENS, LimitKind.COST_USD)

_MONEY_PLACES = 12
_MONEY_STEP = Decimal(f"1e-{_MONEY_PLACES}")
"""Costs are kept to a millionth of a millionth of a dollar, rounded up: sums stay exact in 28 digits."""

_NO_MONEY = Decimal(0)
_MOST_MONEY = Decimal(10**9)
_MOST_COUNT = 10**15


def _is_sound(cost: Decimal) -> bool:
    if type(cost) is not Decimal or not cost.is_finite() or not _NO_MONEY <= cost <= _MOST_MONEY:
        return False
    exponent = cost.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -_MONEY_PLACES


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """So much of each thing that is spent. Never negative."""

    turns: int = 0
    model_calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = _NO_MONEY

    def __post_init__(self) -> None:
        cost = self.cost_usd
        if (
            type(self.turns) is type(self.model_calls) is type(self.tokens) is int
            and 0 <= (self.turns | self.model_calls | self.tokens) < _MOST_COUNT
            and (cost is _NO_MONEY or _is_sound(cost))
        ):
            return
        for field in ("turns", "model_calls", "tokens"):
            whole(field, getattr(self, field), smallest=0, largest=_MOST_COUNT)
        object.__setattr__(self, "cost_usd", dollars("cost_usd", cost))

    def of(self, kind: LimitKind) -> Number:
        """The amount of one kind; zero for what is never spent."""
        read = _READ.get(kind)
        return 0 if read is None else read(self)

    def plus(self, other: Amounts) -> Amounts:
        if other is NOTHING:
            return self
        if self is NOTHING:
            return other
        total = _AmountsDraft()  # as ``_sound`` makes it: these two are the most frequent of all
        total.turns = self.turns + other.turns
        total.model_calls = self.model_calls + other.model_calls
        total.tokens = self.tokens + other.tokens
        cost = self.cost_usd
        total.cost_usd = cost if other.cost_usd is _NO_MONEY else cost + other.cost_usd
        total.__class__ = Amounts
        return total

    def minus(self, other: Amounts) -> Amounts:
        """The difference, and nothing below zero."""
        if other is NOTHING:
            return self
        if other is self:
            return NOTHING  # most reservations are given back whole, with none beside them
        rest = _AmountsDraft()
        rest.turns = self.turns - other.turns if self.turns > other.turns else 0
        rest.model_calls = self.model_calls - other.model_calls if self.model_calls > other.model_calls else 0
        rest.tokens = self.tokens - other.tokens if self.tokens > other.tokens else 0
        cost = self.cost_usd
        rest.cost_usd = cost - other.cost_usd if cost >= other.cost_usd else _NO_MONEY
        rest.__class__ = Amounts
        return rest

    def is_within(self, other: Amounts) -> bool:
        """Whether there is at least as much in ``other``, kind by kind."""
        return (
            self.turns <= other.turns
            and self.model_calls <= other.model_calls
            and self.tokens <= other.tokens
            and self.cost_usd <= other.cost_usd
        )

    def only(self, kinds: tuple[LimitKind, ...]) -> Amounts:
        """These kinds as they are, the others zero."""
        if kinds is SPENT_KINDS or self is NOTHING:
            return self
        return _sound(
            self.turns if LimitKind.TURNS in kinds else 0,
            self.model_calls if LimitKind.MODEL_CALLS in kinds else 0,
            self.tokens if LimitKind.TOKENS in kinds else 0,
            self.cost_usd if LimitKind.COST_USD in kinds else _NO_MONEY,
        )

    @property
    def is_nothing(self) -> bool:
        return not (self.turns or self.model_calls or self.tokens or self.cost_usd)


_READ: dict[LimitKind, Callable[[Amounts], Number]] = {
    LimitKind.TURNS: lambda amounts: amounts.turns,
    LimitKind.MODEL_CALLS: lambda amounts: amounts.model_calls,
    LimitKind.TOKENS: lambda amounts: amounts.tokens,
    LimitKind.COST_USD: lambda amounts: amounts.cost_usd,
}

NOTHING = Amounts()
_AmountsDraft = draft_class(Amounts)


def sound(*, turns: int = 0, model_calls: int = 0, tokens: int = 0, cost_usd: Decimal = _NO_MONEY) -> Amounts:
    """Amounts made of figures that were checked already."""
    return _sound(turns, model_calls, tokens, cost_usd)


def _sound(turns: int, model_calls: int, tokens: int, cost_usd: Decimal) -> Amounts:
    """Amounts made of sound ones: there is nothing to check again."""
    amounts = _AmountsDraft()
    amounts.turns = turns
    amounts.model_calls = model_calls
    amounts.tokens = tokens
    amounts.cost_usd = cost_usd
    amounts.__class__ = Amounts
    return amounts


def dollars(
    field: str,
    value: object,
    *,
    smallest: Decimal = Decimal(0),
    largest: Decimal = _MOST_MONEY,
    to_do: str = USE_ALLOWED,
) -> Decimal:
    """``value`` as money. Takes a Decimal, a whole number, a float or text such as "0.50"."""
    amount = value if type(value) is Decimal and value.is_finite() else _decimal(value)
    if amount is None or not smallest <= amount <= largest:
        raise InvalidValueError(
            field, value, allowed=f'dollars from {smallest:f} to {largest:,f}, such as "0.50"', to_do=to_do
        )
    return amount.quantize(_MONEY_STEP, rounding=ROUND_CEILING).normalize() + 0


def _decimal(value: object) -> Decimal | None:
    if type(value) is Decimal:
        return value if value.is_finite() else None
    if isinstance(value, bool) or not isinstance(value, Decimal | int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except (InvalidOperation, ValueError):
        return None
    return amount if amount.is_finite() else None
