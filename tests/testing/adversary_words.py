"""How tests of models and tools ask for what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from endstop.ports import (
    Message,
    Model,
    ModelRequest,
    Piece,
    ReplyEnded,
    TextPiece,
    Tool,
    ToolContext,
    ToolRequest,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from endstop.testing import echo_tool

ECHO = echo_tool().spec


def asked(
    messages: Sequence[Message] = (UserMessage(text="Where is the login?"),),
    *,
    system: str = "",
    tools: tuple[ToolSpec, ...] = (ECHO,),
    max_output_tokens: int = 1_000,
) -> ModelRequest:
    return ModelRequest(system=system, messages=messages, tools=tools, max_output_tokens=max_output_tokens)


async def streamed(model: Model, request: ModelRequest | None = None, *, most: int = 100) -> list[Piece]:
    """The first pieces of one reply, and the stream closed after them."""
    pieces: list[Piece] = []
    stream = model.stream(request or asked())
    async for piece in stream:
        pieces.append(piece)
        if len(pieces) == most:
            break
    if hasattr(stream, "aclose"):
        await stream.aclose()  # type: ignore[attr-defined]
    return pieces


async def replies(model: Model, number: int, request: ModelRequest | None = None) -> list[list[Piece]]:
    return [await streamed(model, request) for _ in range(number)]


def text_of(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))


def calls_of(pieces: Iterable[Piece]) -> list[ToolRequest]:
    return [piece for piece in pieces if isinstance(piece, ToolRequest)]


def end_of(pieces: Sequence[Piece]) -> ReplyEnded:
    end = pieces[-1]
    assert isinstance(end, ReplyEnded)
    return end


async def called(tool: Tool, arguments: str = "{}") -> ToolResult:
    return await tool.call(arguments, ToolContext(run_id="run-1", scope="run", turn=0, call="call-1"))


async def cancelled_after(seconds: float, tool: Tool) -> bool:
    """Call a tool, cancel it, and tell whether it ended by that."""
    task = asyncio.create_task(called(tool))
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled()
