"""Rounds of work that change nothing (B7), judged over the last iterations, three by default.

Not converging is any of these, over all iterations of the window:

- the same open issues each time, compared as a set without case and white space, and not none at all;
- lines of code within ten of each other, and known each time;
- the same estimated cost each time, and known each time.

The last two count only if, from the first to the last iteration of the window, neither the number of open
issues nor that of failing tests has fallen. Fewer iterations than the window are never stuck. It is
reported once when it begins and again after each further window. ``Evidence.turn`` is the iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from endstop.kernel.canonical import digest, fold_text
from endstop.kernel.detectors.actions import Seen
from endstop.kernel.finding import Evidence, Finding, Pattern
from endstop.kernel.observation import IterationEnded
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Iteration:
    number: int
    issues: int
    issues_key: str
    failing_tests: int
    lines_of_code: int | None
    cost_usd: Decimal | None

    @property
    def seen(self) -> Evidence:
        parts = [f"{self.issues} open issues", f"{self.failing_tests} failing tests"]
        if self.lines_of_code is not None:
            parts.append(f"{self.lines_of_code} lines")
        if self.cost_usd is not None:
            parts.append(f"${self.cost_usd}")
        return Evidence(turn=self.number, what=f"iteration {self.number + 1}: {', '.join(parts)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """Finds ``NOT_CONVERGING``."""

    CONCERNS: ClassVar[tuple[type, ...]] = (IterationEnded,)

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    window: tuple[_Iteration, ...] = ()
    stuck_windows: int = 0
    """How many windows in a row were stuck, the present one included."""

    def observe(self, observation: Seen) -> tuple[Convergence, Finding | None]:
        if not isinstance(observation, IterationEnded):
            return self, None
        size = self.thresholds.convergence_iterations
        window = (*self.window, _iteration(observation))[-size:]
        why = _why_stuck(window, self.thresholds.convergence_lines) if len(window) == size else ()
        stuck_windows = self.stuck_windows + 1 if why else 0
        after = Convergence(thresholds=self.thresholds, window=window, stuck_windows=stuck_windows)
        if not why or (stuck_windows - 1) % size:
            return after, None
        return after, _found(window, size + stuck_windows - 1, why)


def _iteration(ended: IterationEnded) -> _Iteration:
    issues = sorted({fold_text(issue) for issue in ended.issues})
    return _Iteration(
        number=ended.iteration,
        issues=len(issues),
        issues_key=digest("\n".join(issues)),
        failing_tests=ended.failing_tests,
        lines_of_code=ended.lines_of_code,
        cost_usd=ended.cost_usd,
    )


def _why_stuck(window: tuple[_Iteration, ...], lines_apart: int) -> tuple[str, ...]:
    """What has not changed, in words; empty if the work moves."""
    why: list[str] = []
    if window[0].issues and len({each.issues_key for each in window}) == 1:
        why.append("the same open issues")
    if window[-1].issues < window[0].issues or window[-1].failing_tests < window[0].failing_tests:
        return tuple(why)
    lines = [each.lines_of_code for each in window if each.lines_of_code is not None]
    if len(lines) == len(window) and max(lines) - min(lines) <= lines_apart:
        why.append(f"lines of code within {lines_apart} of each other")
    costs = {each.cost_usd for each in window}
    if len(costs) == 1 and None not in costs:
        why.append("the same estimated cost")
    return tuple(why)


def _found(window: tuple[_Iteration, ...], times: int, why: tuple[str, ...]) -> Finding:
    shown = window if len(window) <= 6 else (*window[:3], *window[-3:])
    return Finding(
        pattern=Pattern.NOT_CONVERGING,
        message=f"{times} iterations changed nothing: {'; '.join(why)}",
        advice="Accept the present state, or change the task: another round of the same will not help.",
        times=times,
        evidence=tuple(each.seen for each in shown),
    )
