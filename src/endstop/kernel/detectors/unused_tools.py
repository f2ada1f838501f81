"""An agent that must use tools and does not: reminded once, ended the second time in a row (B6).

Judged at the end of each turn. A turn with a call begins anew. A closing turn has no tools to call, an agent
that finished has no more to do, and a model call that was never answered is not the model's fault: those
turns do not count. What the user says changes nothing here, for the reminder itself may reach the model
as a message of the user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from endstop.kernel.detectors.actions import Seen
from endstop.kernel.detectors.rows import NO_ROW, Row
from endstop.kernel.detectors.turns import NEW_TURN, TURN_CONCERNS, TurnWatch
from endstop.kernel.evolve import quick
from endstop.kernel.finding import Evidence, Finding, Pattern
from endstop.kernel.observation import TurnEnded
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedTools:
    """Finds ``TOOLS_UNUSED``, then ``TOOLS_REFUSED``."""

    CONCERNS: ClassVar[tuple[type, ...]] = TURN_CONCERNS

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    turn: TurnWatch = NEW_TURN
    row: Row = NO_ROW

    def observe(self, observation: Seen) -> tuple[UnusedTools, Finding | None]:
        turn = self.turn.after(observation)
        if not isinstance(observation, TurnEnded):
            return (self if turn is self.turn else self._with(turn, self.row)), None
        if self.turn.has_called:
            return self._with(turn, NO_ROW), None
        if self.turn.is_excused:
            return self._with(turn, self.row), None
        row = self.row.after("unused", Evidence(turn=observation.turn, what="no tool was called"))
        return self._with(turn, row), self._finding(row)

    def _with(self, turn: TurnWatch, row: Row) -> UnusedTools:
        return UnusedTools(thresholds=self.thresholds, turn=turn, row=row)

    def _finding(self, row: Row) -> Finding | None:
        reminders = self.thresholds.tool_reminders
        if row.count <= reminders:
            return Finding(
                pattern=Pattern.TOOLS_UNUSED,
                message=f"No tool was called, though this agent must use tools ({row.turns})",
                advice="You must use your tools. Call one of them now: text alone does not count as work.",
                times=row.count,
                evidence=row.evidence,
            )
        if not row.is_due(reminders + 1):
            return None
        return Finding(
            pattern=Pattern.TOOLS_REFUSED,
            message=(
                f"No tool was called in {_turns_in_a_row(row.count)}, "
                f"though this agent must use tools ({row.turns})"
            ),
            advice="End the run with what it has, then look at its prompt: can its model call tools at all?",
            times=row.count,
            evidence=row.evidence,
        )


def _turns_in_a_row(count: int) -> str:
    return "a turn" if count == 1 else f"{count} turns in a row"
