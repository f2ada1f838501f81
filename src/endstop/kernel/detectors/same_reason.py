"""The same reason for another turn, again and again (B3), counted as in C5.

The first signal of a turn counts. A turn without a signal, or with one that is no ``need_turn``, ends the
row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from endstop.kernel.detectors.actions import Seen, shortened
from endstop.kernel.detectors.rows import NO_ROW, Row
from endstop.kernel.evolve import quick
from endstop.kernel.finding import Evidence, Finding, Pattern
from endstop.kernel.observation import SignalGiven, TurnEnded
from endstop.kernel.reasons import NO_STREAK, ReasonStreak
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class SameReason:
    """Finds ``SAME_REASON``."""

    CONCERNS: ClassVar[tuple[type, ...]] = (SignalGiven, TurnEnded)

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    streak: ReasonStreak = NO_STREAK
    row: Row = NO_ROW
    signalled_turn: int | None = None

    def observe(self, observation: Seen) -> tuple[SameReason, Finding | None]:
        if isinstance(observation, SignalGiven):
            return (self, None) if observation.turn == self.signalled_turn else self._signalled(observation)
        if (
            isinstance(observation, TurnEnded)
            and observation.turn != self.signalled_turn
            and self.streak.count
        ):
            return SameReason(thresholds=self.thresholds), None
        return self, None

    def _signalled(self, signal: SignalGiven) -> tuple[SameReason, Finding | None]:
        streak = self.streak.after(signal.reason if signal.type == "need_turn" else None)
        if streak.reason is None:
            return SameReason(thresholds=self.thresholds, signalled_turn=signal.turn), None
        # ReasonStreak alone decides what is the same: this row only keeps the evidence.
        row = self.row if streak.count > 1 else NO_ROW
        row = row.after("reason", Evidence(turn=signal.turn, what=shortened(signal.reason or "")))
        after = SameReason(thresholds=self.thresholds, streak=streak, row=row, signalled_turn=signal.turn)
        return after, after._finding()

    def _finding(self) -> Finding | None:
        if not self.row.is_due(self.thresholds.same_reason):
            return None
        return Finding(
            pattern=Pattern.SAME_REASON,
            message=(
                f"Another turn was asked for {self.row.count} times in a row for the same reason "
                f"({self.row.turns}): {self.row.evidence[-1].what}"
            ),
            advice="Answer with what there is, and say what is missing.",
            times=self.row.count,
            evidence=self.row.evidence,
        )
