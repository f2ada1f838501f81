"""Messages without a tool call and without anything new, from an agent that must use tools (B4).

A message has nothing new if it is empty, or was said before in the present row of messages without a call
(case and white space do not count). Of equal messages the first counts too, as in B1: "Done." three times
is three. A tool call or a message of the user begins a new row. A closing turn, and the one in which the
agent finished, neither count nor begin one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from endstop.kernel.canonical import digest, fold_text
from endstop.kernel.detectors.actions import Seen, shortened
from endstop.kernel.detectors.rows import NO_ROW, Row
from endstop.kernel.detectors.turns import NEW_TURN, TURN_CONCERNS, TurnWatch
from endstop.kernel.evolve import quick
from endstop.kernel.finding import Evidence, Finding, Pattern
from endstop.kernel.observation import AssistantSaid, TurnEnded, UserSaid
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds

_REMEMBERED = 16
"""So many different messages are remembered as said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    seen: Evidence
    said: str | None
    """A fingerprint of its text; None if it is empty."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Finds ``SILENT``."""

    CONCERNS: ClassVar[tuple[type, ...]] = (*TURN_CONCERNS, UserSaid)

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    turn: TurnWatch = NEW_TURN
    message: _Message | None = None
    """The message of the turn under way."""
    said: tuple[str, ...] = ()
    """What was said in the present row of messages without a call, the latest last."""
    opener: str | None = None
    """The new message with which the row begins: it is part of it only if the next one repeats it."""
    row: Row = NO_ROW

    def observe(self, observation: Seen) -> tuple[Silence, Finding | None]:
        if isinstance(observation, AssistantSaid):
            folded = fold_text(observation.text)
            message = _Message(
                seen=Evidence(turn=observation.turn, what=shortened(observation.text) or "(no text)"),
                said=digest(folded) if folded else None,
            )
            return replace(self, message=message, turn=self.turn.after(observation)), None
        if isinstance(observation, UserSaid):
            return Silence(thresholds=self.thresholds, turn=self.turn, message=self.message), None
        turn = self.turn.after(observation)
        if isinstance(observation, TurnEnded) and self.message is not None:
            return self._judged(self.message)
        return (self if turn is self.turn else replace(self, turn=turn)), None

    def _judged(self, message: _Message) -> tuple[Silence, Finding | None]:
        if self.turn.has_called:
            return Silence(thresholds=self.thresholds), None
        if self.turn.is_excused:
            return replace(self, turn=NEW_TURN, message=None), None
        is_new = message.said is not None and message.said not in self.said
        begins_anew = is_new or (self.opener is not None and message.said != self.opener)
        row = (NO_ROW if begins_anew else self.row).after("silent", message.seen)
        said = self.said if message.said is None else _with_latest(self.said, message.said)
        after = Silence(
            thresholds=self.thresholds, said=said, opener=message.said if is_new else None, row=row
        )
        return after, after._finding()

    def _finding(self) -> Finding | None:
        if not self.row.is_due(self.thresholds.silent_messages):
            return None
        return Finding(
            pattern=Pattern.SILENT,
            message=(
                f"{self.row.count} messages in a row called no tool and said nothing new ({self.row.turns})"
            ),
            advice="Call a tool for the next step, or finish with what there is.",
            times=self.row.count,
            evidence=self.row.evidence,
        )


def _with_latest(said: tuple[str, ...], latest: str) -> tuple[str, ...]:
    return (*(each for each in said if each != latest), latest)[-_REMEMBERED:]
