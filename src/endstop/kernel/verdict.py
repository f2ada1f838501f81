"""What the governor decides, and what it notices on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from endstop.kernel.amounts import Amounts
from endstop.kernel.finding import Finding, Response
from endstop.kernel.ledger import ROOT, Account
from endstop.kernel.limits import LimitKind, Meter, Number
from endstop.kernel.outcome import StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitNotice:
    """How a limit stands when it warns, or when it has ended a run."""

    scope: str = ROOT
    limit_type: LimitKind
    current_value: Number
    limit_value: Number
    percentage: float
    remaining: Number
    turn: int
    max_turns: int | None
    message: str
    forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitWarned(LimitNotice):
    """A limit's warning threshold was reached: said once per limit and run (A2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitExceeded(LimitNotice):
    """A limit ended the run."""


_Limited = TypeVar("_Limited", LimitWarned, LimitExceeded)


def limit_notice(
    kind: type[_Limited], meter: Meter, account: Account, *, turn: int, message: str, forced: bool = False
) -> _Limited:
    """A notice of how a limit stands for an account."""
    max_turns = account.maximum(LimitKind.TURNS)
    return kind(
        scope=account.id,
        limit_type=meter.kind,
        current_value=meter.used,
        limit_value=meter.maximum,
        percentage=meter.percent,
        remaining=meter.remaining,
        turn=turn,
        max_turns=None if max_turns is None else int(max_turns),
        message=message,
        forced=forced,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingReported:
    """A detector found something, and this is the policy's response to it."""

    scope: str = ROOT
    finding: Finding
    response: Response
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrun:
    """More was used than had been reserved and was left. The audit of this run will not hold."""

    scope: str = ROOT
    turn: int
    amounts: Amounts
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceUnknown:
    """A call of unknown price was made under a cost limit that allows it: said once per run (A10)."""

    scope: str = ROOT
    turn: int
    message: str


Notice: TypeAlias = LimitWarned | LimitExceeded | FindingReported | Overrun | PriceUnknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """What came of one observation: notices for the record, and hints to give to the model, once."""

    notices: tuple[Notice, ...] = ()
    hints: tuple[str, ...] = ()


NOTHING_NOTICED = Noticed()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn:
    """Another turn may be taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTurn:
    """One more turn may be taken, the closing one: without tools, to write the best answer there is."""

    limit: LimitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The run ends, for this reason."""

    reason: StopReason


GO_ON = GoOn()

Verdict: TypeAlias = GoOn | LastTurn | Stop
