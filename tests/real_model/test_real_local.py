"""``local:`` with a real file: streaming, a tool call held to a schema, leaving early."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from endstop.errors import ModelRefusedError
from endstop.models.local import LocalModel
from endstop.ports import ModelRequest, Piece, ReplyEnded, TextPiece, ToolRequest, ToolSpec, UserMessage

SEARCH = ToolSpec(
    name="search_code",
    description="Search the code.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)


@pytest.fixture(scope="module")
def model(weights: Path) -> Iterator[LocalModel]:
    made = LocalModel(str(weights), threads=1)
    yield made
    made.close()


async def reply(model: LocalModel, request: ModelRequest) -> tuple[list[Piece], ReplyEnded]:
    pieces = [piece async for piece in model.stream(request)]
    assert isinstance(pieces[-1], ReplyEnded)
    return pieces[:-1], pieces[-1]


async def test_a_reply_is_streamed_and_capped(model: LocalModel) -> None:
    request = ModelRequest(messages=[UserMessage(text="Tell me a long story.")], max_output_tokens=12)
    pieces, ended = await reply(model, request)

    assert len(pieces) > 1
    assert ended.is_truncated
    assert ended.usage is not None
    assert ended.usage.output_tokens == 12
    assert ended.usage.input_tokens <= model.count(messages=request.messages)


async def test_a_tool_is_called_by_a_model_that_was_never_taught_to(model: LocalModel) -> None:
    request = ModelRequest(
        system="Always use the tool.",
        messages=[UserMessage(text="Use search_code to search for cats.")],
        tools=(SEARCH,),
        max_output_tokens=200,
    )
    pieces, ended = await reply(model, request)
    for _ in range(4):  # it draws its words: sometimes it would rather talk
        if isinstance(pieces[-1], ToolRequest) and not ended.is_truncated:
            break
        pieces, ended = await reply(model, request)

    calls = [piece for piece in pieces if isinstance(piece, ToolRequest)]
    assert [call.tool for call in calls] == ["search_code"]
    assert isinstance(json.loads(calls[0].arguments)["query"], str)
    assert ended.usage is not None
    counted = model.count(system=request.system, tools=request.tools, messages=request.messages)
    assert ended.usage.input_tokens <= counted


async def test_closing_in_mid_stream_frees_the_server(model: LocalModel) -> None:
    story = ModelRequest(messages=[UserMessage(text="Tell me a very long story.")], max_output_tokens=3_000)
    stream = model.stream(story)
    assert isinstance(await anext(stream), TextPiece)
    await stream.aclose()

    started_s = time.monotonic()
    await reply(model, ModelRequest(messages=[UserMessage(text="hi")], max_output_tokens=1))
    assert time.monotonic() - started_s < 1.0


async def test_a_prompt_that_is_too_long_is_refused(model: LocalModel) -> None:
    with pytest.raises(ModelRefusedError, match="context"):
        await reply(model, ModelRequest(messages=[UserMessage(text="word " * 9_000)], max_output_tokens=1))
