"""How often the same reason came in a row (requirements B3 and C5)."""

from __future__ import annotations

from dataclasses import dataclass

from endstop.kernel.canonical import fold_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonStreak:
    """The last reason for another turn and how often it came in a row: 1 on the first, 0 for none."""

    reason: str | None = None
    count: int = 0

    def after(self, reason: str | None) -> ReasonStreak:
        """The streak after a turn that gave ``reason``; None for a turn that gave none."""
        if reason is None:
            return NO_STREAK
        folded = fold_text(reason)
        return ReasonStreak(reason=folded, count=self.count + 1 if folded == self.reason else 1)


NO_STREAK = ReasonStreak()
