"""Models whose signals are the trouble. They call a tool each turn, so that a run goes on all the same."""

from __future__ import annotations

from collections.abc import Callable

from endstop.ports import ModelRequest
from endstop.testing.adversaries.wording import never_the_same, sentence, words
from endstop.testing.replies import ScriptedReply, calls, reply
from endstop.testing.scripted_model import ScriptedModel

_SPACES = (" ", "  ", "\t", "\n", " \n ", "\u00a0")

_MALFORMED = (
    '<signal type="need_turn"><reason>it is never closed',
    "<signal><reason>it has no type</reason></signal>",
    '<signal type="world_peace"><reason>no such type</reason></signal>',
    '<signal type="stuck">words outside of any field</signal>',
    '<signal type="need_turn"><reason>a field that is not closed</signal>',
    "</signal>",
    "<signal type=need_turn confidence=very></signal>",
)


class SignalsBesideCalls(ScriptedModel):
    """Calls a tool with new arguments each turn, and adds what ``write`` makes of the turn's number."""

    def __init__(
        self, write: Callable[[int], str], *, name: str, tool: str = "echo", piece_chars: int | None = None
    ) -> None:
        super().__init__(self._with_signal, name=name, piece_chars=piece_chars)
        self._write = write
        self._tool = tool

    def _with_signal(self, request: ModelRequest) -> ScriptedReply:
        number = len(self.requests)
        call = calls(self._tool, query=never_the_same(request, number))
        return reply(text=sentence(number) + self._write(number), calls=[call])


def same_reason() -> SignalsBesideCalls:
    """Gives the same reason for another turn each time, with other white space and case. Stuck (B3)."""
    return SignalsBesideCalls(same_reason_signal, name="adversary:same-reason")


def malformed_signals() -> SignalsBesideCalls:
    """Writes signals that cannot be read, another kind each turn. Stripped, logged, no signal (C4)."""
    return SignalsBesideCalls(
        lambda number: _MALFORMED[number % len(_MALFORMED)], name="adversary:malformed-signals"
    )


def nested_signals(*, depth: int = 5) -> SignalsBesideCalls:
    """Writes signals inside signals. Stripped, logged (C4); a limit ends it."""
    return SignalsBesideCalls(lambda number: nested_signal(number, depth), name="adversary:nested-signals")


def split_signals(*, piece_chars: int = 3) -> SignalsBesideCalls:
    """Streams good signals in pieces of three characters. No part of one is ever shown (C3)."""
    return SignalsBesideCalls(need_turn_signal, name="adversary:split-signals", piece_chars=piece_chars)


def need_turn_signal(number: int) -> str:
    """A well-formed signal, with a reason of its own for every number."""
    return f'<signal type="need_turn"><reason>{words(number)}</reason><confidence>0.9</confidence></signal>'


def same_reason_signal(number: int) -> str:
    """A well-formed signal whose reason differs only in white space and case."""
    reason = _SPACES[number % len(_SPACES)].join(("I", "need", "more", "context"))
    reason = reason.upper() if number % 2 else reason
    return f'<signal type="need_turn"><reason>{reason}</reason><confidence>0.9</confidence></signal>'


def nested_signal(number: int, depth: int) -> str:
    opened = '<signal type="need_turn"><reason>' * depth
    return f"{opened}{words(number)}{'</reason></signal>' * depth}"
