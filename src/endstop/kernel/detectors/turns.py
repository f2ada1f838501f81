"""What the detectors of unused tools need to know of the turn under way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from endstop.kernel.detectors.actions import Seen
from endstop.kernel.evolve import quick
from endstop.kernel.observation import (
    AgentFinished,
    AssistantSaid,
    CallSettled,
    ToolCalled,
    TurnEnded,
    TurnStarted,
)

TURN_CONCERNS = (ToolCalled, AssistantSaid, CallSettled, TurnStarted, AgentFinished, TurnEnded)
"""What a ``TurnWatch`` has to be told."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWatch:
    """Whether the model called a tool in this turn, and whether it had to."""

    has_called: bool = False
    has_said: bool = False
    is_free: bool = False
    """A closing turn has no tools to call, and an agent that finished has no more to do."""
    is_lost: bool = False
    """What the model call used is a guess of ours: it may never have been answered (a crash, a cut)."""

    @property
    def is_excused(self) -> bool:
        """Nobody can blame the model for calling nothing."""
        return self.is_free or (self.is_lost and not self.has_said)

    def after(self, observation: Seen) -> TurnWatch:
        if isinstance(observation, ToolCalled):
            return self if self.has_called else replace(self, has_called=True)
        if isinstance(observation, AssistantSaid):
            return self if self.has_said else replace(self, has_said=True)
        if isinstance(observation, CallSettled):
            return replace(self, is_lost=True) if observation.is_estimate and not self.is_lost else self
        if isinstance(observation, TurnStarted):
            return NEW_TURN if observation.closing is None else TurnWatch(is_free=True)
        if isinstance(observation, AgentFinished):
            return replace(self, is_free=True)
        return NEW_TURN if isinstance(observation, TurnEnded) else self


NEW_TURN = TurnWatch()
