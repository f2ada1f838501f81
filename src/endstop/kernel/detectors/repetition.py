"""The same tool with the same arguments, again and again (B1).

Counted when a call is answered, whatever its answer: a call that was skipped, tripped or cancelled was
still asked for again. Text between the calls does not count, a message of the user begins a new row, and
so does a tool that says it is waiting (B9).

A cursor tool (``next_page``) is meant to be repeated: its calls are the same when it brings the same page,
whatever the arguments. A cursor call that was not run brought no page and is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from endstop.kernel.detectors.actions import Action, Seen
from endstop.kernel.detectors.rows import NO_ROW, Row
from endstop.kernel.evolve import maker, quick
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.observation import UserSaid
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedCalls:
    """Finds ``IDENTICAL_CALL`` and ``IDENTICAL_RESULT``."""

    CONCERNS: ClassVar[tuple[type, ...]] = (Action, UserSaid)

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    row: Row = NO_ROW

    def observe(self, seen: Seen) -> tuple[RepeatedCalls, Finding | None]:
        if isinstance(seen, Action):
            return self._acted(seen)
        if isinstance(seen, UserSaid) and self.row is not NO_ROW:
            return RepeatedCalls(thresholds=self.thresholds), None
        return self, None

    def _acted(self, action: Action) -> tuple[RepeatedCalls, Finding | None]:
        finished = action.finished
        if finished.is_waiting:
            return RepeatedCalls(thresholds=self.thresholds), None
        identity = action.identity if finished.is_cursor else finished.key
        if identity is None:
            return self, None
        row = self.row.after(identity, action.seen)
        finding = None if row.count == 1 else self._finding(row, action)  # once is no repetition
        return _repeated_calls(thresholds=self.thresholds, row=row), finding

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


_repeated_calls = maker(RepeatedCalls)
