"""Reads a whole reply at once: its text without signals, and the signals."""

from __future__ import annotations

from dataclasses import dataclass

from endstop.kernel.evolve import maker, quick
from endstop.signals.contract import MalformedSignal, Signal
from endstop.signals.stream import SignalStream


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedReply:
    """A reply taken apart. ``extra`` and ``malformed`` are the first 20 each; the counts are of all."""

    text: str
    """What is shown to the user."""
    signal: Signal | None
    """The first well-formed signal: the one that counts."""
    extra: tuple[Signal, ...]
    malformed: tuple[MalformedSignal, ...]
    extra_count: int
    malformed_count: int


_parsed = maker(ParsedReply)
_NOTHING_SAID = ParsedReply(text="", signal=None, extra=(), malformed=(), extra_count=0, malformed_count=0)


def parse_reply(text: str) -> ParsedReply:
    """Take a whole reply apart. The same as streaming it, in one chunk."""
    if not text:
        return _NOTHING_SAID
    if "<" not in text:
        return _parsed(text=text, signal=None, extra=(), malformed=(), extra_count=0, malformed_count=0)
    stream = SignalStream()
    shown = stream.feed(text)
    rest = stream.finish()
    return ParsedReply(
        # Where nothing was stripped the text itself will do: large replies need not be copied.
        text=text if len(shown) + len(rest) == len(text) else shown + rest,
        signal=stream.signal,
        extra=stream.extra,
        malformed=stream.malformed,
        extra_count=stream.extra_count,
        malformed_count=stream.malformed_count,
    )
