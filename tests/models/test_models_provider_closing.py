"""A reply that is closed early ends at the provider, too, at once, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os

import pytest
from provider_server import (
    DONE,
    Exchange,
    ProviderServer,
    anthropic_start,
    anthropic_text,
    chat_text,
    provider_server,
)
from talking import pieces_of, streaming, text_of

from endstop.models import make_model
from endstop.ports import Model, TextPiece


def open_files() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.guarantee("A11", "D10")
async def test_closing_is_noticed_by_the_server_within_half_a_second(
    server: ProviderServer, chat_model: Model
) -> None:
    server.streams_and_hangs(chat_text("Hel")[0])
    reply = streaming(chat_model)
    assert await anext(reply) == TextPiece(text="Hel")

    async with asyncio.timeout(0.5):
        await reply.aclose()
        await server.is_left.wait()


@pytest.mark.guarantee("A11", "D10")
async def test_closing_an_anthropic_stream_is_noticed_too(
    server: ProviderServer, anthropic_model: Model
) -> None:
    server.streams_and_hangs(anthropic_start(), *anthropic_text("Hel")[:2])
    reply = streaming(anthropic_model)
    assert await anext(reply) == TextPiece(text="Hel")

    async with asyncio.timeout(0.5):
        await reply.aclose()
        await server.is_left.wait()


@pytest.mark.guarantee("A11")
async def test_a_hang_in_the_middle_can_be_cancelled(server: ProviderServer, chat_model: Model) -> None:
    server.streams_and_hangs(chat_text("Hel")[0])
    reply = streaming(chat_model)
    await anext(reply)
    waiting = asyncio.ensure_future(anext(reply))
    await asyncio.sleep(0.01)
    waiting.cancel()

    async with asyncio.timeout(0.5):
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await server.is_left.wait()


async def test_another_task_may_close(server: ProviderServer, chat_model: Model) -> None:
    server.streams_and_hangs(chat_text("Hel")[0])
    reply = streaming(chat_model)
    await asyncio.create_task(anext(reply))
    await asyncio.create_task(reply.aclose())

    async with asyncio.timeout(0.5):
        await server.is_left.wait()


async def test_a_server_that_floods_is_left_all_the_same(server: ProviderServer, chat_model: Model) -> None:
    async def flood(exchange: Exchange) -> None:
        await exchange.stream(end=False)
        while True:
            await exchange.send(chat_text("more " * 1_000)[0].encode())

    server.answer = flood
    reply = streaming(chat_model)
    await anext(reply)
    await reply.aclose()
    await server.is_left.wait()


async def test_no_task_and_no_connection_is_left(server: ProviderServer, chat_model: Model) -> None:
    before = open_files(), len(asyncio.all_tasks())
    server.streams(*chat_text("Hello"), DONE)
    await pieces_of(chat_model)
    server.streams_and_hangs(chat_text("Hel")[0])
    reply = streaming(chat_model)
    await anext(reply)
    await reply.aclose()
    await server.is_left.wait()
    await asyncio.sleep(0.01)

    assert (open_files(), len(asyncio.all_tasks())) == before


async def test_a_model_can_be_asked_by_many_at_once(server: ProviderServer, chat_model: Model) -> None:
    server.streams(*chat_text("Hel", "lo"), DONE)

    replies = await asyncio.gather(*(pieces_of(chat_model) for _ in range(20)))

    assert [text_of(reply) for reply in replies] == ["Hello"] * 20


def test_a_model_can_be_used_in_one_event_loop_after_another() -> None:
    models: list[Model] = []

    async def ask(port: int = 0) -> int:
        async with provider_server(port) as server:
            server.streams(*chat_text("Hello"), DONE)
            if not models:
                models.append(make_model("openai:some-model", base_url=server.url))
            assert text_of(await pieces_of(models[0])) == "Hello"
            return int(server.url.split(":")[2].split("/")[0])

    port = asyncio.run(ask())
    asyncio.run(ask(port))
