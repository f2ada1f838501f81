"""What a detector reports: a pattern, the evidence for it, and what to do about it.

A finding ends nothing. The run's policy maps it to a response: go on, nudge the model, ask a person, stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from endstop.kernel.evolve import quick


class Pattern(StrEnum):
    """What was noticed."""

    IDENTICAL_CALL = "identical_call"
    """The same tool with the same arguments, again and again (B1)."""
    IDENTICAL_RESULT = "identical_result"
    """A cursor tool that keeps bringing the same page (B1)."""
    ERROR_STREAK = "error_streak"
    """Tool errors in a row (B2)."""
    SAME_REASON = "same_reason"
    """The same reason for another turn, again and again (B3)."""
    CYCLE = "cycle"
    """A few actions in turn, round after round (B4)."""
    SILENT = "silent"
    """Messages without a tool call and without anything new (B4)."""
    REPEATED_TEXT = "repeated_text"
    """A chunk of text over and over inside one reply (B4)."""
    FAILING_CALL = "failing_call"
    """A call that fails the same way every time: it is tripped (B5)."""
    TOOLS_UNUSED = "tools_unused"
    """An agent that must use tools did not: a reminder (B6)."""
    TOOLS_REFUSED = "tools_refused"
    """An agent that must use tools did not, again (B6)."""
    NOT_CONVERGING = "not_converging"
    """Rounds of work that change nothing (B7)."""
    CUSTOM = "custom"
    """From a detector of somebody else's."""
    DETECTOR_FAILED = "detector_failed"
    """A detector raised, or answered nonsense. The run goes on without it."""


class Response(StrEnum):
    """What the policy does about a finding."""

    GO_ON = "go_on"
    NUDGE = "nudge"
    """Hand the model a hint to try otherwise."""
    ASK = "ask"
    """End in a budget review: a person or a reviewer decides."""
    STOP = "stop"


_MILDER: Mapping[Pattern, Response] = {
    Pattern.FAILING_CALL: Response.NUDGE,
    Pattern.TOOLS_UNUSED: Response.NUDGE,
    Pattern.CUSTOM: Response.NUDGE,
    Pattern.DETECTOR_FAILED: Response.GO_ON,
}

DEFAULT_RESPONSES: Mapping[Pattern, Response] = MappingProxyType(
    {pattern: _MILDER.get(pattern, Response.STOP) for pattern in Pattern}
)
"""Stop for what is stuck; nudge for what may still be mended."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing that was seen: in which turn, which call, and what it was."""

    turn: int
    call: str | None = None
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A pattern with its evidence, and advice."""

    pattern: Pattern
    message: str
    """What was noticed, in a sentence."""
    advice: str
    """What to do about it, in a sentence."""
    times: int
    """How often it was seen in a row."""
    evidence: tuple[Evidence, ...] = ()
