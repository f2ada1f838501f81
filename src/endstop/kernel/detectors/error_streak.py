"""Tool errors in a row (B2).

An error is a tool that failed to do its job: an exception, a time-out, a refusal, an unknown tool, bad
arguments. A success ends the row. Calls that were never judged (skipped, tripped, cancelled, interrupted, or
still waiting) neither lengthen it nor end it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from endstop.kernel.detectors.actions import Action, Seen, shortened
from endstop.kernel.detectors.rows import NO_ROW, Row
from endstop.kernel.evolve import quick
from endstop.kernel.finding import Evidence, Finding, Pattern
from endstop.kernel.observation import CallStatus
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds

_ERRORS = "errors"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorStreak:
    """Finds ``ERROR_STREAK``."""

    CONCERNS: ClassVar[tuple[type, ...]] = (Action,)

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    row: Row = NO_ROW

    def observe(self, seen: Seen) -> tuple[ErrorStreak, Finding | None]:
        if not isinstance(seen, Action) or (
            self.row is NO_ROW and seen.finished.status is CallStatus.EXECUTED
        ):
            return self, None
        if seen.error is not None:
            row = self.row.after(_ERRORS, failed(seen, seen.error))
            return ErrorStreak(thresholds=self.thresholds, row=row), self._finding(row)
        if seen.is_success and self.row is not NO_ROW:
            return ErrorStreak(thresholds=self.thresholds), None
        return self, None

    def _finding(self, row: Row) -> Finding | None:
        if not row.is_due(self.thresholds.errors_in_a_row):
            return None
        return Finding(
            pattern=Pattern.ERROR_STREAK,
            message=f"{row.count} tool calls in a row ended in an error ({row.turns})",
            advice="Read the errors, then do something else: other arguments, another tool, or ask the user.",
            times=row.count,
            evidence=row.evidence,
        )


def failed(action: Action, error: str) -> Evidence:
    """A failed call as evidence, with what it said."""
    what = f"{action.what}: {shortened(error)}"
    return Evidence(turn=action.finished.turn, call=action.finished.call, what=what)
