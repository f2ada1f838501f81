"""How the agent stands when the fallback is asked: all that a chooser may go by."""

from __future__ import annotations

from dataclasses import dataclass

from endstop.signals import Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The latest reply, and what came before it."""

    question: str = ""
    text: str = ""
    """What the reply says, without its signal."""
    signal: Signal | None = None
    """The signal of the latest reply."""
    turns_without_signal: int = 0
    turns_left: int | None = None
    """None when turns are not limited."""
    tool_calls_last_turn: int = 0
    tool_errors_in_a_row: int = 0
    has_sources: bool = False
    """Whether the tools have found something that an answer can rest on."""
    fallbacks_before: int = 0
    """How often the fallback had it go on since it last got anywhere."""
