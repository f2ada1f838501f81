"""What the signals of a run so far add up to (requirement C5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from endstop.kernel.reasons import NO_STREAK, ReasonStreak
from endstop.signals.contract import Signal, SignalType

MAX_RECENT = 20
"""How many of the latest signals the state holds."""


def _no_counts() -> Mapping[SignalType, int]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalState:
    """The signals of a run, folded turn by turn.

    All signals of the run are in its record, as facts. The state is made anew every turn, so it keeps
    only what costs the same on turn 1,000 as on turn 1: how many there were, of which type, and the
    latest 20.
    """

    last: Signal | None = None
    count: int = 0
    counts_by_type: Mapping[SignalType, int] = field(default_factory=_no_counts)
    """How many signals of each type there were; a type that never came is not in it."""
    recent: tuple[Signal, ...] = ()
    """The latest signals, oldest first."""
    same_reason: ReasonStreak = NO_STREAK
    """How often the same ``need_turn`` reason came in a row: 1 on the first."""
    turns_without_signal: int = 0
    """How many turns in a row gave no signal."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts_by_type", MappingProxyType(dict(self.counts_by_type)))

    def after_turn(self, signal: Signal | None) -> SignalState:
        """The state after a turn that gave ``signal``, the one that counts; None for a turn without one."""
        if signal is None:
            return SignalState(
                last=self.last,
                count=self.count,
                counts_by_type=self.counts_by_type,
                recent=self.recent,
                turns_without_signal=self.turns_without_signal + 1,
            )
        return SignalState(
            last=signal,
            count=self.count + 1,
            counts_by_type={
                **self.counts_by_type,
                signal.type: self.counts_by_type.get(signal.type, 0) + 1,
            },
            recent=(*self.recent, signal)[-MAX_RECENT:],
            same_reason=self.same_reason.after(_reason_for_a_turn(signal)),
        )


def _reason_for_a_turn(signal: Signal) -> str | None:
    """Why another turn is needed; None from a signal that asks for none."""
    if signal.type is not SignalType.NEED_TURN:
        return None
    # Asking again and again without a reason is the same reason every time.
    return signal.reason or ""
