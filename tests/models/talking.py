"""Words of tests that talk to models."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import cast

from endstop.ports import (
    Message,
    Model,
    ModelRequest,
    Piece,
    ReplyEnded,
    TextPiece,
    ToolRequest,
    ToolSpec,
    UserMessage,
)

SEARCH = ToolSpec(
    name="search_code",
    description="Search the code.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)


def asking(
    *messages: Message | str, system: str = "", tools: Sequence[ToolSpec] = (), max_output_tokens: int = 100
) -> ModelRequest:
    said = [UserMessage(text=one) if isinstance(one, str) else one for one in messages or ("Hello?",)]
    return ModelRequest(messages=said, system=system, tools=tuple(tools), max_output_tokens=max_output_tokens)


def streaming(model: Model, request: ModelRequest | None = None) -> AsyncGenerator[Piece]:
    """The reply as the generator it is, to be closed early."""
    return cast("AsyncGenerator[Piece]", model.stream(request or asking()))


async def pieces_of(model: Model, request: ModelRequest | None = None) -> list[Piece]:
    return [piece async for piece in model.stream(request or asking())]


def text_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))


def calls_of(pieces: Sequence[Piece]) -> list[ToolRequest]:
    return [piece for piece in pieces if isinstance(piece, ToolRequest)]


def end_of(pieces: Sequence[Piece]) -> ReplyEnded:
    """The last piece, which is the only one of its kind."""
    ended = [piece for piece in pieces if isinstance(piece, ReplyEnded)]
    assert ended == [pieces[-1]]
    return ended[0]
