"""The ordinary provider path against llama.cpp's own server and a real, small model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from endstop.errors import ModelRefusedError, ModelUnreachableError
from endstop.models import make_model
from endstop.ports import Model, ModelRequest, Piece, ReplyEnded, TextPiece, UserMessage


def request(text: str, *, max_output_tokens: int = 40) -> ModelRequest:
    return ModelRequest(
        system="You are brief.", messages=[UserMessage(text=text)], max_output_tokens=max_output_tokens
    )


@pytest.fixture
def model(real_server_url: str) -> Model:
    return make_model("openai:smollm2", base_url=real_server_url)


async def reply(model: Model, asked: ModelRequest) -> tuple[list[Piece], ReplyEnded]:
    pieces = [piece async for piece in model.stream(asked)]
    assert isinstance(pieces[-1], ReplyEnded)
    return pieces[:-1], pieces[-1]


async def test_a_reply_is_streamed_and_its_usage_told(model: Model) -> None:
    asked = request("Say hello.")
    pieces, ended = await reply(model, asked)

    assert len(pieces) > 1
    assert all(isinstance(piece, TextPiece) for piece in pieces)
    assert ended.usage is not None
    assert 0 < ended.usage.output_tokens <= 40
    assert 0 < ended.usage.input_tokens <= model.count(system=asked.system, messages=asked.messages)


@pytest.mark.parametrize("text", ["hi", "Straße 🎉 これは" * 20, "{}[]<>\\\"'" * 20, "\n \t" * 50 + "x"])
async def test_the_count_is_an_upper_bound(model: Model, text: str) -> None:
    asked = request(text, max_output_tokens=1)
    _, ended = await reply(model, asked)

    assert ended.usage is not None
    assert ended.usage.input_tokens <= model.count(system=asked.system, messages=asked.messages)


async def test_a_reply_that_meets_its_cap_is_truncated(model: Model) -> None:
    pieces, ended = await reply(model, request("Tell me a long story.", max_output_tokens=8))

    assert ended.is_truncated
    assert ended.usage is not None
    assert ended.usage.output_tokens == 8
    assert pieces


async def test_closing_in_mid_stream_frees_the_server(model: Model) -> None:
    story = request("Tell me a very long story.", max_output_tokens=3_000)
    stream = cast("AsyncGenerator[Piece]", model.stream(story))
    assert isinstance(await anext(stream), TextPiece)
    await stream.aclose()

    # The server has one slot: it answers the next one only when it has let go of the first.
    started_s = time.monotonic()
    await reply(model, request("hi", max_output_tokens=1))
    assert time.monotonic() - started_s < 1.0


async def test_a_cancelled_call_frees_the_server(model: Model) -> None:
    story = request("Tell me a very long story.", max_output_tokens=3_000)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await reply(model, story)

    started_s = time.monotonic()
    await reply(model, request("hi", max_output_tokens=1))
    assert time.monotonic() - started_s < 1.0


async def test_a_prompt_that_is_too_long_is_refused(model: Model) -> None:
    with pytest.raises(ModelRefusedError, match="context"):
        await reply(model, request("word " * 6_000))


async def test_a_wrong_port_is_unreachable() -> None:
    with pytest.raises(ModelUnreachableError):
        await reply(make_model("openai:smollm2", base_url="http://127.0.0.1:9/v1"), request("hi"))
