"""A reply that said the same chunk of text over and over and was cut off (B4).

The search itself runs beside the stream, in ``streamed_text``; this turns what it saw into a finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from endstop.kernel.detectors.actions import Seen, shortened
from endstop.kernel.finding import Evidence, Finding, Pattern
from endstop.kernel.observation import ReplyRepeated


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedReply:
    """Finds ``REPEATED_TEXT``."""

    CONCERNS: ClassVar[tuple[type, ...]] = (ReplyRepeated,)

    def observe(self, observation: Seen) -> tuple[RepeatedReply, Finding | None]:
        if not isinstance(observation, ReplyRepeated):
            return self, None
        chunk = shortened(observation.chunk)
        return self, Finding(
            pattern=Pattern.REPEATED_TEXT,
            message=f"A reply said the same {observation.times} times (turn {observation.turn + 1}): {chunk}",
            advice="The reply was cut off: keep what came before it, and ask again in another way.",
            times=observation.times,
            evidence=(Evidence(turn=observation.turn, what=chunk),),
        )
