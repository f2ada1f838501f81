"""Models that lie about what they have used. They never finish, so that a limit has to end them."""

from __future__ import annotations

from typing import cast

from endstop.ports import ModelUsage
from endstop.testing.adversaries.calls import Runaway
from endstop.testing.replies import ScriptedReply


class LiesAboutUsage(Runaway):
    """Runs away, and tells ``usage`` of every call, whatever it was. Our own count stands against it."""

    def __init__(self, usage: ModelUsage | None, *, name: str = "adversary:lies-about-usage") -> None:
        super().__init__(name=name)
        self._usage = usage

    def usage_told(self, counted: ModelUsage, reply: ScriptedReply) -> ModelUsage | None:  # noqa: ARG002
        return self._usage


def tells_too_little() -> LiesAboutUsage:
    """Tells one token in and one out of every call. Turns end it at the latest, or our own count does."""
    return LiesAboutUsage(
        ModelUsage(input_tokens=1, output_tokens=1), name="adversary:tells-too-little-usage"
    )


def tells_too_much() -> LiesAboutUsage:
    """Tells a billion billion tokens of every call. A call is never settled at more than it had reserved."""
    return LiesAboutUsage(
        ModelUsage(input_tokens=10**18, output_tokens=10**18), name="adversary:tells-too-much-usage"
    )


def tells_none() -> LiesAboutUsage:
    """Tells no usage at all. Every call is settled at our own count, never at zero."""
    return LiesAboutUsage(None, name="adversary:tells-no-usage")


def tells_negative() -> LiesAboutUsage:
    """Tells that it used less than nothing, to win budget back. Nothing is ever given back."""
    return LiesAboutUsage(
        ModelUsage(input_tokens=-1_000_000, output_tokens=-1), name="adversary:tells-negative-usage"
    )


def tells_nonsense() -> LiesAboutUsage:
    """Tells usage that are no numbers. Taken as none told."""
    nonsense = ModelUsage(input_tokens=cast("int", float("nan")), output_tokens=cast("int", "many"))
    return LiesAboutUsage(nonsense, name="adversary:tells-nonsense-usage")
