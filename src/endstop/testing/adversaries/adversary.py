"""What an adversary is: who attacks, with what, and how that may end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from endstop.kernel.outcome import Completed, Failed, Forced, Outcome, Stopped, StopRule
from endstop.ports import Model, Tool

Expected: TypeAlias = StopRule | type[Completed] | type[Failed]
"""A rule that ends the run, or, where no rule does, the kind of ending."""

LIMITS = frozenset[Expected](
    {
        StopRule.TURNS,
        StopRule.MODEL_CALLS,
        StopRule.TOKENS,
        StopRule.COST,
        StopRule.CONTEXT,
        StopRule.TIME,
    }
)
"""Only what the budget allows ends it."""
TIME = frozenset[Expected]({StopRule.TIME})
NO_PROGRESS = frozenset[Expected]({StopRule.NO_PROGRESS})
ERRORS = frozenset[Expected]({StopRule.ERROR_LIMIT})
FAILED = frozenset[Expected]({Failed})
COMPLETED = frozenset[Expected]({Completed})


@dataclass(frozen=True, slots=True, kw_only=True)
class Adversary:
    """A model, the tools it is given, and how a run with them may end when the budget is generous."""

    name: str
    does: str
    """One sentence."""
    make_model: Callable[[], Model]
    make_tools: Callable[[], tuple[Tool, ...]]
    expected: frozenset[Expected]
    must_use_tools: bool = False
    """It is a trouble only for an agent that must use tools."""
    needs_time_limit: bool = False
    """Nothing but time ends it: no budget without a time limit, and no wait without a time-out."""

    def accepts(self, outcome: Outcome) -> bool:
        """Whether a run may end like this. A limit that let the model close properly counts as that limit."""
        match outcome:
            case Forced(reason=reason) | Stopped(reason=reason):
                return reason.rule in self.expected
            case Completed(warnings=warnings) if warnings:
                return Completed in self.expected or bool(self.expected & LIMITS)
            case _:
                return type(outcome) in self.expected
