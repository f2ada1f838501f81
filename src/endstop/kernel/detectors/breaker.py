"""The circuit breaker: a call that keeps failing the same way is not executed again (B5).

Failures are counted per tool, arguments and error, over the whole run and not only in a row. A success of
the tool clears what it had; a success of a tool that changes something clears everything, for the world is
another one now. The least recent failures are forgotten once there are too many different ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from endstop.kernel.canonical import error_key
from endstop.kernel.detectors.actions import Action, Seen, shortened
from endstop.kernel.detectors.error_streak import failed
from endstop.kernel.detectors.rows import NO_ROW, Row
from endstop.kernel.evolve import quick
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.observation import CallStatus
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds

_REMEMBERED = 64
"""So many different failures are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failures:
    """How often one call failed with one error."""

    tool: str
    key: str
    error: str
    row: Row = NO_ROW


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreaker:
    """Finds ``FAILING_CALL``, and tells drivers which calls are tripped."""

    CONCERNS: ClassVar[tuple[type, ...]] = (Action,)

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    failures: tuple[_Failures, ...] = ()
    """The most recent last."""

    def is_tripped(self, tool: str, key: str) -> bool:
        """Whether the call is not to be executed: it failed too often with one and the same error."""
        if not self.failures:
            return False
        tool = tool.strip()
        return any(
            each.key == key and each.tool == tool and each.row.count >= self.thresholds.failures_to_trip
            for each in self.failures
        )

    def observe(self, seen: Seen) -> tuple[CircuitBreaker, Finding | None]:
        if not isinstance(seen, Action) or (
            not self.failures and seen.finished.status is CallStatus.EXECUTED
        ):
            return self, None
        if seen.error is not None:
            failures = _with_failure(self.failures, seen, seen.error)
            finding = self._finding(failures[-1], seen, seen.error)
            return CircuitBreaker(thresholds=self.thresholds, failures=failures), finding
        if seen.is_success and self.failures:
            return CircuitBreaker(thresholds=self.thresholds, failures=_cleared(self.failures, seen)), None
        return self, None

    def _finding(self, failures: _Failures, action: Action, error: str) -> Finding | None:
        row = failures.row
        if not row.is_due(self.thresholds.failures_to_trip):
            return None
        return Finding(
            pattern=Pattern.FAILING_CALL,
            message=(
                f"{action.tool} failed {row.count} times with the same arguments and the same error "
                f"({row.turns}): {shortened(error)}"
            ),
            advice="It is not executed again with these arguments: change them, or try something else.",
            times=row.count,
            evidence=row.evidence,
        )


def _with_failure(failures: tuple[_Failures, ...], action: Action, error: str) -> tuple[_Failures, ...]:
    """The table with one more failure of this call, which goes to its end."""
    same = (action.tool, action.finished.key, error_key(error))
    row = next((each.row for each in failures if (each.tool, each.key, each.error) == same), NO_ROW)
    others = (each for each in failures if (each.tool, each.key, each.error) != same)
    latest = _Failures(
        tool=same[0], key=same[1], error=same[2], row=row.after("failed", failed(action, error))
    )
    return (*others, latest)[-_REMEMBERED:]


def _cleared(failures: tuple[_Failures, ...], action: Action) -> tuple[_Failures, ...]:
    if action.finished.changes_something:
        return ()
    return tuple(each for each in failures if each.tool != action.tool)
