"""Stop conditions of one's own, composed with ``|`` and ``&``.

    turns(30) | tokens(200_000) | (idle(60) & no_progress(3))

A condition is a plain value: it can be written into the record of a run and read back. It comes on top of
the budget and is looked at before each turn; only a budget is reserved against and held inside a turn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from endstop.errors import InvalidValueError
from endstop.kernel.amounts import dollars
from endstop.kernel.limits import money, whole

if TYPE_CHECKING:
    from endstop.kernel.agent import AgentState


class Condition(ABC):
    """Something about a run that is met, for a reason, or not."""

    __slots__ = ()

    @abstractmethod
    def met(self, state: AgentState) -> str | None:
        """Why the condition is met, in a few words; None while it is not."""

    def __or__(self, other: Condition) -> Condition:
        return AnyOf(conditions=(*_parts(self, AnyOf), *_parts(other, AnyOf)))

    def __and__(self, other: Condition) -> Condition:
        return AllOf(conditions=(*_parts(self, AllOf), *_parts(other, AllOf)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf(Condition):
    """Met when one of them is; the first that is gives the reason."""

    conditions: tuple[Condition, ...]

    def met(self, state: AgentState) -> str | None:
        return next((why for condition in self.conditions if (why := condition.met(state))), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf(Condition):
    """Met when all of them are; the reason names each."""

    conditions: tuple[Condition, ...]

    def met(self, state: AgentState) -> str | None:
        reasons = [condition.met(state) for condition in self.conditions]
        return " and ".join(why for why in reasons if why) if all(reasons) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsTaken(Condition):
    at_least: int

    def met(self, state: AgentState) -> str | None:
        return f"{state.turn} of {self.at_least} turns taken" if state.turn >= self.at_least else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensUsed(Condition):
    at_least: int

    def met(self, state: AgentState) -> str | None:
        used = state.tokens_used
        return f"{used:,} of {self.at_least:,} tokens used" if used >= self.at_least else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostReached(Condition):
    at_least: Decimal

    def met(self, state: AgentState) -> str | None:
        spent = state.usage.known_cost_usd
        return f"${money(spent)} of ${money(self.at_least)} spent" if spent >= self.at_least else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondsPassed(Condition):
    at_least: float

    def met(self, state: AgentState) -> str | None:
        passed = state.elapsed_s
        return f"{passed:.1f} of {self.at_least:g} seconds passed" if passed >= self.at_least else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle(Condition):
    at_least: float

    def met(self, state: AgentState) -> str | None:
        return f"nothing happened for {state.idle_s:.1f} seconds" if state.idle_s >= self.at_least else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoProgress(Condition):
    turns: int

    def met(self, state: AgentState) -> str | None:
        stale = state.stale_turns
        return f"{stale} turns in a row brought nothing new" if stale >= self.turns else None


def turns(at_least: int) -> Condition:
    """Met once that many turns were taken."""
    return TurnsTaken(at_least=whole("turns", at_least, smallest=1, largest=1_000_000))


def tokens(at_least: int) -> Condition:
    """Met once that many tokens were used."""
    return TokensUsed(at_least=whole("tokens", at_least, smallest=1, largest=10**12))


def cost_usd(at_least: Decimal | str | float) -> Condition:
    """Met once that many dollars were spent, as far as prices are known."""
    return CostReached(at_least=dollars("cost_usd", at_least, smallest=Decimal("0.000001")))


def seconds(at_least: float) -> Condition:
    """Met once the run took that long, without the time it waited for a person."""
    return SecondsPassed(at_least=_positive("seconds", at_least))


def idle(at_least: float) -> Condition:
    """Met when nothing was observed for that many seconds."""
    return Idle(at_least=_positive("idle", at_least))


def no_progress(in_a_row: int) -> Condition:
    """Met when that many turns in a row made only calls whose results were all known already."""
    return NoProgress(turns=whole("no_progress", in_a_row, smallest=1, largest=1_000))


def _positive(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**9:
        raise InvalidValueError(field, value, allowed="seconds above 0 and below 1,000,000,000")
    return float(value)


def _parts(condition: Condition, kind: type[AnyOf] | type[AllOf]) -> tuple[Condition, ...]:
    """The parts of a condition of this very kind, so that chains stay flat; else the condition itself."""
    if not isinstance(condition, Condition):  # pyright: ignore[reportUnnecessaryIsInstance] - users' code
        raise InvalidValueError("condition", condition, allowed="conditions, such as turns(30) or idle(60)")
    return condition.conditions if isinstance(condition, kind) else (condition,)


CONDITIONS = (AnyOf, AllOf, TurnsTaken, TokensUsed, CostReached, SecondsPassed, Idle, NoProgress)
"""Every kind of condition there is. Closed, so that a record can always be read back; for a rule that none
of them expresses, write a decision tree."""


def require_known(condition: Condition) -> None:
    """Raise unless a condition is made of ours alone."""
    if type(condition) not in CONDITIONS:
        raise InvalidValueError(
            "stop",
            condition,
            allowed="conditions such as turns(30), tokens(…), idle(60), joined with | and &",
            to_do="For a rule of your own, register a decision tree with @decision_tree",
        )
    if isinstance(condition, AnyOf | AllOf):
        for part in condition.conditions:
            require_known(part)
