"""Models of providers, over real HTTP: what is sent, and what is made of what comes back."""

from __future__ import annotations

import asyncio
import json
from typing import cast

import pytest
from provider_server import (
    DONE,
    KEY,
    ProviderServer,
    anthropic_call,
    anthropic_end,
    anthropic_start,
    anthropic_text,
    anthropic_thought,
    chat_call,
    chat_chunk,
    chat_text,
    chat_usage,
    sse,
)
from talking import SEARCH, asking, calls_of, end_of, pieces_of, streaming, text_of

from endstop.errors import ModelOverloadedError
from endstop.models import make_model
from endstop.ports import (
    AssistantMessage,
    Model,
    ModelUsage,
    ReplyEnded,
    TextPiece,
    ThoughtPiece,
    ToolMessage,
    ToolRequest,
    UserMessage,
)


async def test_text_is_streamed_piece_by_piece(server: ProviderServer, chat_model: Model) -> None:
    server.streams(*chat_text("Hel", "lo"), chat_usage(5, 2), DONE)

    assert await pieces_of(chat_model) == [
        TextPiece(text="Hel"),
        TextPiece(text="lo"),
        ReplyEnded(usage=ModelUsage(input_tokens=5, output_tokens=2)),
    ]


async def test_anthropic_streams_thoughts_text_and_calls(
    server: ProviderServer, anthropic_model: Model
) -> None:
    server.streams(
        anthropic_start(read=10),
        *anthropic_thought("hm", "m"),
        *anthropic_text("Hel", "lo", index=1),
        *anthropic_call("toolu_1", "search_code", '{"que', 'ry": "x"}', index=2),
        *anthropic_end("tool_use", written=7),
    )

    assert await pieces_of(anthropic_model) == [
        ThoughtPiece(text="hm"),
        ThoughtPiece(text="m"),
        TextPiece(text="Hel"),
        TextPiece(text="lo"),
        ToolRequest(id="toolu_1", tool="search_code", arguments='{"query": "x"}'),
        ReplyEnded(usage=ModelUsage(input_tokens=10, output_tokens=7)),
    ]


async def test_calls_whose_pieces_come_mixed_are_put_together(
    server: ProviderServer, chat_model: Model
) -> None:
    server.streams(
        chat_call(0, id="a", name="one", arguments='{"x"'),
        chat_call(1, id="b", name="two", arguments='{"y": 2}'),
        chat_call(0, arguments=": 1}"),
        chat_chunk({}, "tool_calls"),
        DONE,
    )

    assert calls_of(await pieces_of(chat_model)) == [
        ToolRequest(id="a", tool="one", arguments='{"x": 1}'),
        ToolRequest(id="b", tool="two", arguments='{"y": 2}'),
    ]


@pytest.mark.parametrize("arguments", ['{"q": "bro', "no json at all", '{"a":1}{"b":2}', '{"b" :  2}'])
async def test_arguments_are_told_as_the_model_wrote_them(
    server: ProviderServer, chat_model: Model, arguments: str
) -> None:
    server.streams(chat_call(0, id="a", name="one", arguments=arguments), chat_chunk({}, "tool_calls"), DONE)

    assert [call.arguments for call in calls_of(await pieces_of(chat_model))] == [arguments]


async def test_a_call_without_arguments_has_an_empty_object(
    server: ProviderServer, anthropic_model: Model
) -> None:
    server.streams(anthropic_start(), *anthropic_call("toolu_1", "list_files"), *anthropic_end("tool_use"))

    assert [call.arguments for call in calls_of(await pieces_of(anthropic_model))] == ["{}"]


@pytest.mark.guarantee("D8")
async def test_a_reply_that_met_its_cap_is_truncated(server: ProviderServer, chat_model: Model) -> None:
    server.streams(chat_call(0, id="a", name="one", arguments='{"x'), chat_chunk({}, "length"), DONE)

    pieces = await pieces_of(chat_model)

    assert end_of(pieces).is_truncated
    assert calls_of(pieces) == [ToolRequest(id="a", tool="one", arguments='{"x')]


async def test_anthropic_says_it_met_its_cap_in_its_own_way(
    server: ProviderServer, anthropic_model: Model
) -> None:
    server.streams(anthropic_start(), *anthropic_text("And so"), *anthropic_end("max_tokens"))

    assert end_of(await pieces_of(anthropic_model)).is_truncated


async def test_usage_that_was_not_told_is_none(server: ProviderServer, chat_model: Model) -> None:
    server.streams(*chat_text("Hi"), DONE)

    assert end_of(await pieces_of(chat_model)).usage is None


async def test_a_finish_nobody_has_heard_of_is_a_finish(server: ProviderServer, chat_model: Model) -> None:
    server.streams(*chat_text("Hi", finish="out_of_coffee"), DONE)

    pieces = await pieces_of(chat_model)

    assert text_of(pieces) == "Hi"
    assert not end_of(pieces).is_truncated


async def test_a_refusal_of_the_model_is_an_end(server: ProviderServer, chat_model: Model) -> None:
    server.streams(chat_chunk({"refusal": "I will not"}), chat_chunk({}, "stop"), DONE)

    assert end_of(await pieces_of(chat_model)) == ReplyEnded()


@pytest.mark.guarantee("A6")
async def test_the_output_cap_is_sent(
    server: ProviderServer, chat_model: Model, anthropic_model: Model
) -> None:
    server.streams(*chat_text("Hi"), DONE)
    await pieces_of(chat_model, asking(max_output_tokens=33))
    assert server.body["max_completion_tokens"] == 33

    server.streams(anthropic_start(), *anthropic_text("Hi"), *anthropic_end())
    await pieces_of(anthropic_model, asking(max_output_tokens=44))
    assert server.body["max_tokens"] == 44


async def test_system_prompt_tools_and_key_are_sent(server: ProviderServer, chat_model: Model) -> None:
    server.streams(*chat_text("Hi"), DONE)
    await pieces_of(chat_model, asking("Where?", system="Be kind.", tools=[SEARCH]))

    assert server.messages[0] == {"role": "system", "content": "Be kind."}
    tools = cast("list[dict[str, dict[str, object]]]", server.body["tools"])
    assert [tool["function"]["name"] for tool in tools] == ["search_code"]
    assert tools[0]["function"]["parameters"] == dict(SEARCH.parameters)
    assert server.seen[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_a_turn_with_calls_goes_back_as_openai_wants_it(
    server: ProviderServer, chat_model: Model
) -> None:
    server.streams(*chat_text("Hi"), DONE)
    called = ToolRequest(id="a", tool="search_code", arguments='{"query": "x"}')
    broken = ToolRequest(id="b", tool="search_code", arguments='{"query')
    await pieces_of(
        chat_model,
        asking(
            "Where?",
            AssistantMessage(calls=(called, broken)),
            ToolMessage(call="a", tool="search_code", text="here"),
            ToolMessage(call="b", tool="search_code", text="not JSON", is_error=True),
            UserMessage(text="Wrap up."),
            tools=[SEARCH],
        ),
    )

    roles = [message["role"] for message in server.messages]
    calls = cast("list[dict[str, dict[str, str]]]", server.messages[1]["tool_calls"])
    assert roles == ["user", "assistant", "tool", "tool", "user"]
    assert [json.loads(one["function"]["arguments"]) for one in calls] == [
        {"query": "x"},
        {"unreadable_arguments": '{"query'},
    ]


async def test_anthropic_is_told_of_past_tools_when_none_are_offered_any_more(
    server: ProviderServer, anthropic_model: Model
) -> None:
    server.streams(anthropic_start(), *anthropic_text("Hi"), *anthropic_end())
    called = ToolRequest(id="a", tool="search_code", arguments="{}")
    await pieces_of(
        anthropic_model,
        asking(
            "Where?", AssistantMessage(calls=(called,)), ToolMessage(call="a", tool="search_code", text="x")
        ),
    )

    tools = cast("list[dict[str, object]]", server.body["tools"])
    assert [tool["name"] for tool in tools] == ["search_code"]
    assert server.body["tool_choice"] == {"type": "none"}


async def test_nothing_is_said_of_tools_where_there_were_none(
    server: ProviderServer, anthropic_model: Model
) -> None:
    server.streams(anthropic_start(), *anthropic_text("Hi"), *anthropic_end())
    await pieces_of(anthropic_model)

    assert "tools" not in server.body


async def test_openai_itself_is_spoken_to_in_its_newer_protocol(server: ProviderServer) -> None:
    reply: dict[str, object] = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": [],
        "tools": [],
    }
    started: dict[str, object] = {
        **reply,
        "status": "in_progress",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
    }
    usage = {
        "input_tokens": 3,
        "output_tokens": 2,
        "total_tokens": 5,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    item: dict[str, object] = {
        "id": "i",
        "type": "message",
        "role": "assistant",
        "status": "in_progress",
        "content": [],
    }
    place = {"item_id": "i", "output_index": 0, "content_index": 0}
    events: list[dict[str, object]] = [
        {"type": "response.created", "response": started},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_text.delta", "delta": "Hi", "logprobs": [], **place},
        {"type": "response.completed", "response": {**started, "status": "completed", "usage": usage}},
    ]
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    server.streams(*(sse(event, str(event["type"])) for event in numbered))
    model = make_model("openai-responses:some-model", base_url=server.url, api_key=KEY)

    assert await pieces_of(model, asking(max_output_tokens=50)) == [
        TextPiece(text="Hi"),
        ReplyEnded(usage=ModelUsage(input_tokens=3, output_tokens=2)),
    ]
    assert server.seen[-1].path == "/v1/responses"
    assert server.body["max_output_tokens"] == 50


async def test_the_address_may_come_from_the_environment(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server.streams(*chat_text("Hi"), DONE)
    model = make_model("openai:some-model")

    assert text_of(await pieces_of(model)) == "Hi"
    assert model.cost_usd(ModelUsage(input_tokens=1)) is None


@pytest.mark.parametrize("provider", ["groq", "mistral", "ollama"])
async def test_other_providers_stream_are_left_at_once_and_try_nothing_again(
    server: ProviderServer, provider: str
) -> None:
    model = make_model(f"{provider}:some-model", base_url=server.url.removesuffix("/v1"), api_key=KEY)
    server.streams(*chat_text("Hel", "lo"), DONE)
    assert text_of(await pieces_of(model)) == "Hello"

    server.fails(500)
    with pytest.raises(ModelOverloadedError):
        await pieces_of(model)
    assert len(server.seen) == 2

    server.streams_and_hangs(chat_text("Hel")[0])
    reply = streaming(model)
    await anext(reply)
    async with asyncio.timeout(0.5):
        await reply.aclose()
        await server.is_left.wait()
