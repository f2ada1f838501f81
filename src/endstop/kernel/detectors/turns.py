"""What the detectors of unused tools need to know of the turn under way."""

from __future__ import annotations

from dataclasses import dataclass

from endstop.kernel.observation import AgentFinished, Observation, ToolCalled, TurnEnded, TurnStarted


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWatch:
    """Whether the model called a tool in this turn, and whether it had to."""

    has_called: bool = False
    is_excused: bool = False
    """A closing turn has no tools to call, and an agent that finished has no more to do."""

    def after(self, observation: Observation) -> TurnWatch:
        if isinstance(observation, ToolCalled):
            return self if self.has_called else TurnWatch(has_called=True, is_excused=self.is_excused)
        if isinstance(observation, TurnStarted):
            return NEW_TURN if observation.closing is None else TurnWatch(is_excused=True)
        if isinstance(observation, AgentFinished):
            return TurnWatch(has_called=self.has_called, is_excused=True)
        return NEW_TURN if isinstance(observation, TurnEnded) else self


NEW_TURN = TurnWatch()
