"""Every way a provider fails, over real HTTP: which error it is, whether to try again, and no key in it."""

from __future__ import annotations

import asyncio

import pytest
from provider_server import (
    DONE,
    KEY,
    Exchange,
    ProviderServer,
    anthropic_start,
    anthropic_text,
    chat_chunk,
    chat_text,
    sse,
)
from pydantic_ai import exceptions as theirs
from talking import end_of, pieces_of, streaming

from endstop.errors import (
    ModelAccessError,
    ModelBrokeOffError,
    ModelError,
    ModelOverloadedError,
    ModelRefusedError,
    ModelUnreachableError,
    UnknownModelError,
)
from endstop.models import make_model
from endstop.models.failures import model_error
from endstop.ports import Model

STATUSES = [
    (400, ModelRefusedError),
    (401, ModelAccessError),
    (402, ModelAccessError),
    (403, ModelAccessError),
    (404, UnknownModelError),
    (408, ModelOverloadedError),
    (409, ModelOverloadedError),
    (413, ModelRefusedError),
    (422, ModelRefusedError),
    (429, ModelOverloadedError),
    (500, ModelOverloadedError),
    (502, ModelOverloadedError),
    (503, ModelOverloadedError),
    (529, ModelOverloadedError),
]


async def failure(model: Model) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await pieces_of(model)
    return caught.value


@pytest.mark.guarantee("D11")
@pytest.mark.parametrize(("status", "kind"), STATUSES)
async def test_each_status_is_an_error_of_ours(
    server: ProviderServer, chat_model: Model, anthropic_model: Model, status: int, kind: type[ModelError]
) -> None:
    server.fails(status)
    for model in (chat_model, anthropic_model):
        error = await failure(model)
        assert type(error) is kind
        assert "so it is" in str(error)


@pytest.mark.guarantee("D11")
@pytest.mark.parametrize("status", [408, 429, 500, 529])
async def test_nothing_is_tried_again_in_here(
    server: ProviderServer, chat_model: Model, anthropic_model: Model, status: int
) -> None:
    server.fails(status, headers={"x-should-retry": "true"})
    await failure(chat_model)
    await failure(anthropic_model)

    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("header", "seconds"), [({"Retry-After": "7"}, 7.0), ({"retry-after-ms": "250"}, 0.25), ({}, None)]
)
async def test_how_long_to_wait_is_passed_on(
    server: ProviderServer, chat_model: Model, header: dict[str, str], seconds: float | None
) -> None:
    server.fails(429, headers=header)
    error = await failure(chat_model)

    assert error.retry_after_s == seconds
    assert error.is_retryable


async def test_an_account_with_nothing_left_is_not_asked_again(
    server: ProviderServer, chat_model: Model
) -> None:
    server.fails(429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})
    error = await failure(chat_model)

    assert type(error) is ModelAccessError
    assert not error.is_retryable


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://nowhere.invalid/v1"])
async def test_a_server_that_is_not_there_is_unreachable(url: str) -> None:
    error = await failure(make_model("openai:some-model", base_url=url))

    assert type(error) is ModelUnreachableError
    assert error.is_retryable


async def test_a_server_that_hangs_up_at_once_is_unreachable(
    server: ProviderServer, chat_model: Model
) -> None:
    async def hang_up(exchange: Exchange) -> None:
        exchange.abort()

    server.answer = hang_up

    assert type(await failure(chat_model)) is ModelUnreachableError


@pytest.mark.parametrize("ending", [(), (DONE,)])
async def test_a_stream_that_ends_without_a_finish_broke_off(
    server: ProviderServer, chat_model: Model, ending: tuple[str, ...]
) -> None:
    server.streams(chat_text("Hel")[0], *ending)

    assert type(await failure(chat_model)) is ModelBrokeOffError


async def test_an_anthropic_stream_that_ends_without_a_finish_broke_off(
    server: ProviderServer, anthropic_model: Model
) -> None:
    server.streams(anthropic_start(), *anthropic_text("Hel"))

    assert type(await failure(anthropic_model)) is ModelBrokeOffError


async def test_a_connection_lost_in_the_middle_broke_off(server: ProviderServer, chat_model: Model) -> None:
    server.breaks_off(chat_text("Hel")[0])
    error = await failure(chat_model)

    assert type(error) is ModelBrokeOffError
    assert error.is_retryable


@pytest.mark.parametrize(
    "events", [(), ("\xff\xfe\x00 no events\n\n",), (sse("{nope"),), (chat_text("Hel")[0], sse("{nope"))]
)
async def test_what_cannot_be_read_broke_off(
    server: ProviderServer, chat_model: Model, events: tuple[str, ...]
) -> None:
    server.streams(*events)

    assert type(await failure(chat_model)) is ModelBrokeOffError


@pytest.mark.parametrize(
    "event",
    [
        chat_chunk(
            {"tool_calls": [{"index": 0, "id": ["odd"], "function": {"name": "x", "arguments": "{}"}}]}
        ),
        chat_chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": 7, "arguments": "{}"}}]}),
        chat_chunk({"tool_calls": "many"}),
        sse({"choices": {"not": "a list"}}),
        sse({"choices": ["text"]}),
        sse([]),
        sse("7"),
    ],
)
async def test_events_of_the_wrong_shape_are_an_error_of_ours_and_never_pass_for_a_reply(
    server: ProviderServer, chat_model: Model, event: str
) -> None:
    server.streams(event, *chat_text("Hi"), DONE)

    await failure(chat_model)


@pytest.mark.filterwarnings("ignore::pydantic_ai.exceptions.UsageExtractionFailedWarning")
@pytest.mark.parametrize("count", [-5, None])
async def test_a_count_that_cannot_be_is_no_count(
    server: ProviderServer, chat_model: Model, count: object
) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": count, "total_tokens": count}
    server.streams(*chat_text("Hi"), sse({"id": "c", "choices": [], "usage": usage}), DONE)

    assert end_of(await pieces_of(chat_model)).usage is None


async def test_an_answer_that_is_no_http_is_unreachable(server: ProviderServer, chat_model: Model) -> None:
    server.answer = lambda exchange: exchange.send_raw(b"\x00\x01 not HTTP\r\n\r\n")

    assert type(await failure(chat_model)) is ModelUnreachableError


async def test_a_provider_that_breaks_down_while_it_streams_is_overloaded(
    server: ProviderServer, anthropic_model: Model
) -> None:
    told = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.streams(anthropic_start(), *anthropic_text("Hel"), sse(told, "error"))

    assert type(await failure(anthropic_model)) is ModelOverloadedError


async def test_a_key_is_never_in_an_error(server: ProviderServer, chat_model: Model) -> None:
    for status in (400, 401, 429, 500):
        server.fails(status, {"error": {"message": f"Incorrect API key provided: {KEY}, Bearer {KEY}"}})
        error = await failure(chat_model)
        assert KEY not in f"{error}{error.__cause__}"
        assert "Incorrect API key provided: [key]" in str(error)


@pytest.mark.parametrize("key", ["sk-with-a\nline-break", "sk-with-an-ö"])
async def test_a_key_that_cannot_be_sent_is_the_wrong_key(server: ProviderServer, key: str) -> None:
    error = await failure(make_model("openai:some-model", base_url=server.url, api_key=key))

    assert type(error) is ModelAccessError
    assert "sk-with" not in str(error)


def test_keys_in_the_environment_are_blotted_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "quite-a-secret")

    assert "secret" not in str(model_error(RuntimeError("with quite-a-secret"), model="a:b"))


@pytest.mark.parametrize(
    ("theirs_", "kind"),
    [
        (theirs.ModelRateLimitError("m", "slow down"), ModelOverloadedError),
        (theirs.ModelServerError("m", "oh no"), ModelOverloadedError),
        (theirs.ModelRequestTimeout("m", 5), ModelUnreachableError),
        (theirs.ModelTimeoutError("m", "read"), ModelUnreachableError),
        (theirs.ContentFilterError("not that"), ModelRefusedError),
        (theirs.ModelContextWindowExceededError("m", "too long"), ModelRefusedError),
        (theirs.UserError("cannot be sent"), ModelRefusedError),
        (theirs.ModelAPIError("m", "odd"), ModelBrokeOffError),
        (TimeoutError("too slow"), ModelUnreachableError),
        (ZeroDivisionError("who knows"), ModelError),
        (ModelRefusedError("ours"), ModelRefusedError),
    ],
)
def test_errors_of_every_kind_have_a_kind_of_ours(theirs_: Exception, kind: type[ModelError]) -> None:
    assert type(model_error(theirs_, model="a:b")) is kind


def test_a_connection_lost_once_the_reply_has_begun_broke_off() -> None:
    for error in (TimeoutError(), theirs.ModelTimeoutError("m", "read"), ConnectionResetError()):
        assert type(model_error(error, model="a:b", has_begun=True)) is ModelBrokeOffError


def test_what_the_provider_says_is_found_and_kept_short() -> None:
    bodies: list[tuple[object, str]] = [
        ({"error": {"error": {"message": "deep"}}}, "deep"),
        ({"detail": "flat"}, "flat"),
        ("plain", "plain"),
        ('{"error": {"message": "as text"}}', "as text"),
        ("{broken", "{broken"),
        ({"error": {"error": {"error": {"error": {"error": "too deep"}}}}}, "status_code: 400"),
        (["list"], "status_code: 400"),
        ("long " * 1_000, "long long"),
    ]
    for body, words in bodies:
        told = str(model_error(theirs.ModelHTTPError(400, "m", body), model="a:b"))
        assert words in told
        assert len(told) < 600


def test_an_error_nobody_foresaw_carries_its_words_without_a_loop_in_its_causes() -> None:
    first, second = ValueError("one"), KeyError("two")
    first.__cause__, second.__cause__ = second, first

    assert "one" in str(model_error(first, model="a:b"))


@pytest.mark.guarantee("A11")
async def test_a_model_that_never_answers_can_be_cancelled(server: ProviderServer, chat_model: Model) -> None:
    server.says_nothing()
    reply = streaming(chat_model)
    waiting = asyncio.ensure_future(anext(reply))
    await server.is_asked.wait()
    waiting.cancel()

    async with asyncio.timeout(0.5):
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await server.is_left.wait()
