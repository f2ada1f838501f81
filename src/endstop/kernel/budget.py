"""A budget: the set of limits a run is held to, and grants, the only way to get more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from endstop.errors import GrantRefusedError, InvalidValueError
from endstop.kernel.amounts import Amounts, dollars
from endstop.kernel.limits import LIMIT_FACTS, Limit, LimitKind, Number, fraction, whole
from endstop.kernel.marks import Marks, ordinary_marks, warning_marks

DEFAULT_FINISH_RESERVE = 0.05
DEFAULT_GRANT_CAP = 3.0

_LEAVE_OUT = "Leave it out for no limit"
_LEAVE_OUT_FOR_DEFAULT = "Leave it out for the default"
_NO_WARNING = "Use None for no warning"
_LEAVE_OUT_OF_GRANT = "Leave it out to grant none of it"


class UnknownPrice(StrEnum):
    """What a cost limit means for a call whose price nobody knows."""

    REFUSE = "refuse"
    WARN = "warn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Any set of limits. A limit that is not set does not bind.

    >>> Budget(turns=30, tokens=200_000, cost_usd="0.50", seconds=120)
    """

    turns: int | None = None
    tokens: int | None = None
    cost_usd: Decimal | None = None
    """US dollars. Text and numbers are taken too; floats by their shortest form."""
    seconds: float | None = None
    """Wall-clock time, without the time spent waiting for a person."""
    model_calls: int | None = None
    tool_calls_per_turn: int | None = None
    parallel_tools: int | None = None
    context_tokens: int | None = None

    warn_at: Mapping[LimitKind, float | None] = field(default_factory=dict[LimitKind, float | None])
    """Warning thresholds as fractions, None for none. Defaults: turns 0.70, tokens 0.80, context 0.70."""
    finish_reserve: float = DEFAULT_FINISH_RESERVE
    """The part of tokens, cost and time that is held back, with one model call, so that a closing turn is
    always paid for. Zero holds nothing back: for runs whose parts close by themselves."""
    grant_cap: float = DEFAULT_GRANT_CAP
    """All grants together may add at most this many times a limit's first maximum."""
    unknown_price: UnknownPrice = UnknownPrice.REFUSE
    """Under a cost limit: refuse calls of unknown price (the default), or warn and go on."""
    limits: Mapping[LimitKind, Limit] = field(init=False, repr=False, compare=False)
    """The limits that are set, in the order in which they win (A12)."""
    marks: Marks = field(init=False, repr=False, compare=False)
    """How far a run can go, without grants, before any of them has to be looked at."""
    warning_marks: Marks = field(init=False, repr=False, compare=False)
    """The same for their warnings."""

    if TYPE_CHECKING:  # money may be given as text or a number; what is read back is always a Decimal

        def __init__(
            self,
            *,
            turns: int | None = None,
            tokens: int | None = None,
            cost_usd: Decimal | str | float | None = None,
            seconds: float | None = None,
            model_calls: int | None = None,
            tool_calls_per_turn: int | None = None,
            parallel_tools: int | None = None,
            context_tokens: int | None = None,
            warn_at: Mapping[str, float | None] = ...,
            finish_reserve: float = ...,
            grant_cap: float = ...,
            unknown_price: UnknownPrice | str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        for kind in LIMIT_FACTS:
            value: object = getattr(self, kind.value)
            if value is not None:
                object.__setattr__(self, kind.value, _limit_value(kind, value))
        object.__setattr__(self, "warn_at", _thresholds(self.warn_at))
        fraction("finish_reserve", self.finish_reserve, largest=0.5, to_do=_LEAVE_OUT_FOR_DEFAULT)
        fraction("grant_cap", self.grant_cap, largest=100, to_do=_LEAVE_OUT_FOR_DEFAULT)
        try:
            object.__setattr__(self, "unknown_price", UnknownPrice(self.unknown_price))
        except ValueError:
            raise InvalidValueError(
                "unknown_price",
                self.unknown_price,
                allowed='"refuse" or "warn"',
                to_do=_LEAVE_OUT_FOR_DEFAULT,
            ) from None
        limits = {kind: limit for kind in LIMIT_FACTS if (limit := self._limit(kind)) is not None}
        object.__setattr__(self, "limits", MappingProxyType(limits))
        object.__setattr__(self, "marks", ordinary_marks(limits))
        object.__setattr__(self, "warning_marks", warning_marks(limits))

    def __reduce__(self) -> tuple[object, ...]:
        """Its limits are a read-only view, which cannot be pickled: a copy is made from what was given."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        return _budget_of, ({**given, "warn_at": dict(self.warn_at)},)

    def maximum(self, kind: LimitKind) -> Number | None:
        """The ceiling of this kind, or None where there is none."""
        limit = self.limits.get(kind)
        return None if limit is None else limit.maximum

    def finish(self, kind: LimitKind) -> Number:
        """What is held back of this kind for the closing turn: one turn, and a part of the rest."""
        limit = self.limits.get(kind)
        return 0 if limit is None else limit.finish

    def most_granted(self, kind: LimitKind) -> Number:
        """The most that all grants together may add to a limit; zero where there is none."""
        maximum = self.maximum(kind)
        if maximum is None:
            return 0
        most = Decimal(str(maximum)) * Decimal(str(self.grant_cap))
        return int(most) if isinstance(maximum, int) else type(maximum)(most)

    def __iter__(self) -> Iterator[Limit]:
        """The limits that are set."""
        return iter(self.limits.values())

    def _limit(self, kind: LimitKind) -> Limit | None:
        maximum: Number | None = getattr(self, kind.value)
        if maximum is None:
            return None
        warn_at = self.warn_at[kind] if kind in self.warn_at else LIMIT_FACTS[kind].default_warn_at
        finish = _finish(kind, maximum, self.finish_reserve)
        return Limit(kind=kind, maximum=maximum, warn_at=warn_at, finish=finish)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """More budget: how much, of what, by whom, why. An entry in the books, never a counter set back."""

    turns: int = 0
    model_calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    seconds: float = 0.0
    by: str
    why: str

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            turns: int = 0,
            model_calls: int = 0,
            tokens: int = 0,
            cost_usd: Decimal | str | float = ...,
            seconds: float = 0.0,
            by: str,
            why: str,
        ) -> None: ...

    def __post_init__(self) -> None:
        for kind in (LimitKind.TURNS, LimitKind.MODEL_CALLS, LimitKind.TOKENS):
            most = int(LIMIT_FACTS[kind].largest)
            value: object = getattr(self, kind.value)
            whole(kind.value, value, smallest=0, largest=most, to_do=_LEAVE_OUT_OF_GRANT)
        most_money = Decimal(LIMIT_FACTS[LimitKind.COST_USD].largest)
        cost = dollars("cost_usd", self.cost_usd, largest=most_money, to_do=_LEAVE_OUT_OF_GRANT)
        object.__setattr__(self, "cost_usd", cost)
        seconds = _seconds("seconds", self.seconds, smallest=0.0, to_do=_LEAVE_OUT_OF_GRANT)
        object.__setattr__(self, "seconds", seconds)
        if not _is_said(self.by) or not _is_said(self.why):
            raise GrantRefusedError(
                f"A grant by {self.by!r} because {self.why!r} does not say who gave it and why",
                to_do="Give both `by` and `why`: they stand in the record",
            )
        if self.amounts.is_nothing and not self.seconds:
            raise GrantRefusedError(
                "The grant is of nothing",
                allowed="more than zero of turns, model_calls, tokens, cost_usd or seconds",
                to_do="Say how much, such as Grant(turns=10, by=…, why=…)",
            )

    @property
    def amounts(self) -> Amounts:
        return Amounts(
            turns=self.turns, model_calls=self.model_calls, tokens=self.tokens, cost_usd=self.cost_usd
        )


def _budget_of(given: dict[str, Any]) -> Budget:
    return Budget(**given)


def _finish(kind: LimitKind, maximum: Number, part: float) -> Number:
    match kind:
        case LimitKind.TURNS:
            return 1
        case LimitKind.MODEL_CALLS:
            return 1 if part else 0
        case LimitKind.TOKENS:
            return int(float(maximum) * part)
        case LimitKind.COST_USD:
            return dollars("finish_reserve", Decimal(maximum) * Decimal(str(part)))
        case LimitKind.SECONDS:
            return float(maximum) * part
        case _:
            return 0


def _limit_value(kind: LimitKind, value: object) -> Number:
    facts = LIMIT_FACTS[kind]
    if kind is LimitKind.COST_USD:
        smallest, largest = Decimal(facts.smallest), Decimal(facts.largest)
        return dollars("cost_usd", value, smallest=smallest, largest=largest, to_do=_LEAVE_OUT)
    if kind is LimitKind.SECONDS:
        return _seconds(kind.value, value, smallest=float(facts.smallest), to_do=_LEAVE_OUT)
    return whole(
        kind.value, value, smallest=int(facts.smallest), largest=int(facts.largest), to_do=_LEAVE_OUT
    )


def _is_said(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _seconds(name: str, value: object, *, smallest: float, to_do: str) -> float:
    largest = float(LIMIT_FACTS[LimitKind.SECONDS].largest)
    if isinstance(value, int | float) and not isinstance(value, bool) and smallest <= value <= largest:
        return float(value)
    raise InvalidValueError(name, value, allowed=f"seconds from {smallest:g} to {largest:,.0f}", to_do=to_do)


def _thresholds(given: Mapping[LimitKind, float | None]) -> Mapping[LimitKind, float | None]:
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers' code
        raise InvalidValueError(
            "warn_at", given, allowed='a mapping, such as {"turns": 0.7}', to_do=_LEAVE_OUT_FOR_DEFAULT
        )
    thresholds: dict[LimitKind, float | None] = {}
    for name, value in given.items():
        try:
            kind = LimitKind(name)
        except ValueError:
            raise InvalidValueError(
                "warn_at", name, allowed=", ".join(LIMIT_FACTS), to_do=_LEAVE_OUT_FOR_DEFAULT
            ) from None
        thresholds[kind] = (
            None if value is None else fraction(f"warn_at[{kind.value!r}]", value, to_do=_NO_WARNING)
        )
    return MappingProxyType(thresholds)
