"""Models that ``endstop ask`` is tested with, and the program with them: ``ask_models.py ask --model …``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from itertools import count

from endstop.app import oracle
from endstop.cli import main
from endstop.errors import ModelAccessError
from endstop.models import make_model
from endstop.ports import Model, ModelRequest, Piece, TextPiece
from endstop.testing import ScriptedModel, calls, fails, reply, says
from endstop.testing.replies import ScriptedReply

PROGRAM = (sys.executable, __file__)
"""The program with these models."""

MARKDOWN = "# Limits\n\nThey are in **`limits.py`**, see limits.py:4.\n\n- one\n- two"


class Hanging(ScriptedModel):
    """Says a few words, and then nothing more for ever."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        yield TextPiece(text="A few words, and then")
        await asyncio.sleep(3_600)


def searches_for_ever() -> ScriptedModel:
    numbers = count()

    def search(_: ModelRequest) -> ScriptedReply:
        number = next(numbers)
        return reply(
            text=f"Looking, {number}.",
            calls=[calls("search_code", query=f"limits of runs that take turns {number}")],
        )

    return ScriptedModel(search, name="test:endless")


def repeats_what_was_said(request: ModelRequest) -> ScriptedReply:
    return says("I was told: " + " | ".join(message.text for message in request.messages))


def asks_until_it_is_told(request: ModelRequest) -> ScriptedReply:
    is_told = "the first" in request.messages[-1].text
    return says("Then that. What else?" if is_told else "Which of the two?")


def _thoughtful() -> ScriptedModel:
    looks = reply(
        thought="Where could limits be?", text="Let me look.", calls=[calls("search_code", query="limits")]
    )
    return ScriptedModel(looks, says(MARKDOWN), name="test:thoughtful", delay_s=0.4, piece_chars=5)


def _slow() -> ScriptedModel:
    return ScriptedModel(
        calls("search_code", query="limits"), says("Said in the end."), name="test:slow", delay_s=1.5
    )


_MADE: dict[str, Callable[[], Model]] = {
    "test:slow": _slow,
    "test:hanging": lambda: Hanging(name="test:hanging"),
    "test:thoughtful": _thoughtful,
    "test:endless": searches_for_ever,
    "test:unpriced": lambda: ScriptedModel(says("Hm."), name="test:unpriced", price=None),
    "test:failing": lambda: ScriptedModel(fails(ModelAccessError("The key is wrong")), name="test:failing"),
    "test:asking": lambda: ScriptedModel(asks_until_it_is_told, name="test:asking"),
    "test:echo": lambda: ScriptedModel(repeats_what_was_said, name="test:echo"),
}


def model_of(name: str) -> Model:
    """The model of that name, one of these or a real one."""
    return _MADE[name]() if name in _MADE else make_model(name)


if __name__ == "__main__":
    oracle.make_model = model_of
    main(sys.argv[1:])
