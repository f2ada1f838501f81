"""The same tool with the same arguments, again and again (B1).

Counted when a call is answered, whatever its answer: a call that was skipped, tripped or cancelled was
still asked for again. Text between the calls does not count, a message of the user begins a new row, and
so does a tool that says it is waiting (B9).

A cursor tool (``next_page``) is meant to be repeated: its calls are the same when it brings the same page,
whatever the arguments. A cursor call that was not run brought no page and is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from endstop.kernel.detectors.actions import NO_OPEN_CALLS, Action, OpenCalls
from endstop.kernel.detectors.rows import NO_ROW, Row
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.observation import Observation, UserSaid
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedCalls:
    """Finds ``IDENTICAL_CALL`` and ``IDENTICAL_RESULT``."""

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    open_calls: OpenCalls = NO_OPEN_CALLS
    row: Row = NO_ROW

    def observe(self, observation: Observation) -> tuple[RepeatedCalls, Finding | None]:
        if isinstance(observation, UserSaid):
            return (self if self.row is NO_ROW else replace(self, row=NO_ROW)), None
        open_calls, actions = self.open_calls.after(observation)
        if open_calls is self.open_calls and not actions:
            return self, None
        row, finding = self.row, None
        for action in actions:
            if action.is_waiting:
                row = NO_ROW
            elif (identity := action.identity) is not None:
                row = row.after(identity, action.seen)
                finding = self._finding(row, action) or finding
        return RepeatedCalls(thresholds=self.thresholds, open_calls=open_calls, row=row), finding

    def _finding(self, row: Row, action: Action) -> Finding | None:
        if not action.finished.is_cursor:
            if not row.is_due(self.thresholds.identical_calls):
                return None
            return Finding(
                pattern=Pattern.IDENTICAL_CALL,
                message=(
                    f"{action.tool} was called {row.count} times in a row "
                    f"with the same arguments ({row.turns})"
                ),
                advice="Use the result that is already there, change the arguments, or take another tool.",
                times=row.count,
                evidence=row.evidence,
            )
        if not row.is_due(self.thresholds.identical_results):
            return None
        return Finding(
            pattern=Pattern.IDENTICAL_RESULT,
            message=f"{action.tool} brought the same result {row.count} times in a row ({row.turns})",
            advice="There is nothing more to fetch this way: work with what was read, or look elsewhere.",
            times=row.count,
            evidence=row.evidence,
        )
