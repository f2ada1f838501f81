"""A model that answers as it is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

import pytest
from adversary_words import ECHO, asked, calls_of, end_of, replies, streamed, text_of
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError, ModelOverloadedError
from endstop.ports import (
    AssistantMessage,
    Message,
    Model,
    ModelRequest,
    ModelUsage,
    TextPiece,
    ThoughtPiece,
    ToolMessage,
    ToolRequest,
    ToolSpec,
    UserMessage,
)
from endstop.testing import (
    ScriptedModel,
    ScriptedPrice,
    ScriptedReply,
    WantedCall,
    calls,
    calls_many,
    echo_tool,
    fails,
    reply,
    says,
)


def test_it_is_a_model() -> None:
    assert isinstance(ScriptedModel("Hi."), Model)
    assert ScriptedModel("Hi.").name == "test:scripted"


async def test_it_says_what_it_is_told_one_reply_per_call() -> None:
    model = ScriptedModel("One.", says("Two."))
    assert [text_of(each) for each in await replies(model, 2)] == ["One.", "Two."]


async def test_it_repeats_its_last_reply_when_the_script_is_used_up() -> None:
    model = ScriptedModel("One.", "Two.")
    assert [text_of(each) for each in await replies(model, 4)] == ["One.", "Two.", "Two.", "Two."]


@pytest.mark.parametrize("script", [(), ("One.",)])
async def test_it_can_finish_instead(script: tuple[str, ...]) -> None:
    model = ScriptedModel(*script, on_exhausted="finish")
    assert text_of((await replies(model, len(script) + 1))[-1]) == "Done."


async def test_without_any_script_it_is_done_at_once() -> None:
    assert text_of(await streamed(ScriptedModel())) == "Done."


async def test_it_calls_tools() -> None:
    (call,) = calls_of(await streamed(ScriptedModel(calls("search", query="Süß", limit=3))))
    assert (call.tool, call.arguments) == ("search", '{"query": "Süß", "limit": 3}')


async def test_it_calls_several_tools_and_says_why() -> None:
    model = ScriptedModel(calls_many(calls("a"), calls("b"), text="Both."))
    pieces = await streamed(model)
    assert text_of(pieces) == "Both."
    assert [call.tool for call in calls_of(pieces)] == ["a", "b"]


async def test_arguments_can_be_any_text_and_ids_can_be_chosen() -> None:
    model = ScriptedModel(reply(calls=[WantedCall(tool="a", arguments="{broken", id="mine")]))
    assert calls_of(await streamed(model)) == [ToolRequest(id="mine", tool="a", arguments="{broken")]


async def test_calls_have_ids_of_their_own_also_when_a_fresh_model_goes_on_with_the_history() -> None:
    twins = calls_many(calls("a"), calls("a"))
    history: list[Message] = [UserMessage(text="Go.")]
    ids: list[str] = []
    for _ in range(2):
        model = ScriptedModel(twins)
        for _ in range(2):
            requested = calls_of(await streamed(model, asked(history)))
            history.append(AssistantMessage(calls=tuple(requested)))
            ids.extend(call.id for call in requested)
    assert len(set(ids)) == len(ids) == 8


async def test_it_thinks_before_it_speaks() -> None:
    pieces = await streamed(ScriptedModel(reply(thought="Hm.", text="Yes.")))
    assert pieces[:2] == [ThoughtPiece(text="Hm."), TextPiece(text="Yes.")]
    assert end_of(pieces).usage == ModelUsage(input_tokens=34, output_tokens=2)


async def test_it_fails_as_it_is_told_to_after_what_it_has_said() -> None:
    model = ScriptedModel(fails(ModelOverloadedError("busy"), after="So far"), "Better.")
    stream = model.stream(asked())
    assert await anext(stream) == TextPiece(text="So far")
    with pytest.raises(ModelOverloadedError, match="busy"):
        await anext(stream)
    assert text_of(await streamed(model)) == "Better."


async def test_an_error_that_is_raised_again_and_again_does_not_grow() -> None:
    error = ModelOverloadedError("busy")
    model = ScriptedModel(fails(error))

    async def frames() -> int:
        with pytest.raises(ModelOverloadedError):
            await streamed(model)
        trace, depth = error.__traceback__, 0
        while trace is not None:
            trace, depth = trace.tb_next, depth + 1
        return depth

    assert await frames() == await frames() == await frames()


async def test_a_function_is_given_the_request_and_answers_it() -> None:
    def count_messages(request: ModelRequest) -> str:
        return f"{len(request.messages)} messages"

    model = ScriptedModel(count_messages)
    assert text_of(await streamed(model)) == "1 messages"
    assert text_of(await streamed(model, asked([]))) == "0 messages"


@pytest.mark.parametrize("nonsense", [None, 7, ["text"]])
async def test_what_is_no_reply_is_refused(nonsense: object) -> None:
    with pytest.raises(InvalidValueError, match="reply is"):
        ScriptedModel(cast("Any", nonsense))
    with pytest.raises(InvalidValueError, match="reply is"):
        await streamed(ScriptedModel(cast("Callable[[ModelRequest], str]", lambda _: nonsense)))  # pyright: ignore[reportUnknownLambdaType]


def test_arguments_that_json_cannot_say_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="what JSON can say"):
        calls("search", query={1, 2})


def test_settings_out_of_bounds_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="on_exhausted"):
        ScriptedModel(on_exhausted=cast("Any", "explode"))
    with pytest.raises(InvalidValueError, match="piece_chars"):
        ScriptedModel(piece_chars=0)


async def test_it_streams_in_pieces_if_told_to() -> None:
    pieces = await streamed(ScriptedModel("abcdefg", piece_chars=3))
    assert pieces[:-1] == [TextPiece(text="abc"), TextPiece(text="def"), TextPiece(text="g")]


async def test_it_waits_if_told_to() -> None:
    before = time.monotonic()
    await streamed(ScriptedModel("Late.", delay_s=0.02))
    assert time.monotonic() - before >= 0.02


async def test_it_ends_with_what_it_used() -> None:
    request = asked(system="Be brief.")
    pieces = await streamed(ScriptedModel("Four and four."), request)
    usage = end_of(pieces).usage
    assert usage is not None
    assert usage.output_tokens == 4
    assert usage.input_tokens == ScriptedModel().count(
        system=request.system, tools=request.tools, messages=request.messages
    )


async def test_usage_and_truncation_can_be_told_otherwise() -> None:
    usage = ModelUsage(input_tokens=5, output_tokens=7)
    end = end_of(await streamed(ScriptedModel(reply(text="Hm.", usage=usage, truncated=True))))
    assert (end.usage, end.is_truncated) == (usage, True)


async def test_saying_nothing_counts_as_one_token() -> None:
    usage = end_of(await streamed(ScriptedModel(""))).usage
    assert usage is not None
    assert usage.output_tokens == 1


@pytest.mark.parametrize(
    ("wanted", "cap", "text", "number_of_calls"),
    [
        (says("12345678"), 2, "12345678", 0),
        (says("123456789"), 2, "12345678", 0),
        (reply(text="12345678", calls=[calls("a")]), 2, "12345678", 0),
        (calls_many(calls("a"), calls("b")), 5, "", 1),
        (reply(thought="12345678", text="12345678"), 3, "1234", 0),
        (reply(thought="12345678", text="12345678"), 1, "", 0),
    ],
)
async def test_it_keeps_to_its_cap(wanted: ScriptedReply, cap: int, text: str, number_of_calls: int) -> None:
    pieces = await streamed(ScriptedModel(wanted), asked(max_output_tokens=cap))
    assert (text_of(pieces), len(calls_of(pieces))) == (text, number_of_calls)
    end = end_of(pieces)
    assert end.usage is not None
    assert end.usage.output_tokens <= cap
    assert end.is_truncated == (text != wanted.text or number_of_calls != len(wanted.calls))


async def test_it_remembers_what_it_was_asked_in_short() -> None:
    model = ScriptedModel("Yes.")
    await streamed(model, asked([UserMessage(text="a"), UserMessage(text="b" * 1_000_000)]))
    await streamed(model, asked([], tools=(), max_output_tokens=5))
    first, second = model.requests
    assert first == (2, ("echo",), "b" * 200, 1_000)
    assert (second.messages, second.tools, second.last_text, second.max_output_tokens) == (0, (), "", 5)


def test_it_has_a_price_or_none_that_is_known() -> None:
    usage = ModelUsage(input_tokens=1_000_000, output_tokens=500_000)
    assert ScriptedModel().cost_usd(usage) == Decimal(2)
    dear = ScriptedPrice(input_usd_per_million=Decimal(10), output_usd_per_million=Decimal(0))
    assert ScriptedModel(price=dear).cost_usd(usage) == Decimal(10)
    assert ScriptedModel(price=None).cost_usd(usage) is None


def test_less_than_nothing_costs_nothing() -> None:
    assert ScriptedModel().cost_usd(ModelUsage(input_tokens=-5, output_tokens=-5)) == 0


MESSAGES = st.lists(
    st.one_of(
        st.builds(UserMessage, text=st.text(max_size=30)),
        st.builds(
            AssistantMessage,
            text=st.text(max_size=30),
            calls=st.lists(
                st.builds(ToolRequest, id=st.text(max_size=3), tool=st.text(max_size=9), arguments=st.text()),
                max_size=3,
            ).map(tuple),
        ),
        st.builds(ToolMessage, call=st.just("c"), tool=st.text(max_size=9), text=st.text(max_size=30)),
    ),
    max_size=12,
)


@given(messages=MESSAGES, system=st.text(max_size=20), cut=st.integers(0, 12))
def test_counting_parts_apart_never_gives_less_and_usage_is_the_count(
    messages: list[Message], system: str, cut: int
) -> None:
    model = ScriptedModel("Yes.")
    whole = model.count(system=system, tools=(ECHO,), messages=messages)
    parts = (
        model.count(system=system)
        + model.count(tools=[ECHO])
        + model.count(messages=messages[:cut])
        + model.count(messages=messages[cut:])
    )
    growing = messages[:cut]
    before = model.input_tokens(asked(growing, system=system))
    growing.extend(messages[cut:])
    after = model.input_tokens(asked(growing, system=system))
    assert parts >= whole == after >= before


def test_a_history_that_was_shortened_is_counted_anew() -> None:
    model = ScriptedModel()
    history: list[Message] = [UserMessage(text="a" * 40), UserMessage(text="b" * 40)]
    model.input_tokens(asked(history))
    history[:] = [UserMessage(text="c")]
    assert model.input_tokens(asked(history, tools=())) == model.count(messages=history)
    history[:] = [UserMessage(text="d" * 80)]
    assert model.input_tokens(asked(history, tools=())) == model.count(messages=history)


def test_thousands_of_histories_at_once_are_counted_right() -> None:
    model = ScriptedModel()
    histories: list[list[Message]] = [[UserMessage(text="a" * size)] for size in range(5_000)]
    for _ in range(2):
        for history in histories:
            history.append(AssistantMessage(text="more"))
            assert model.input_tokens(asked(history, tools=())) == model.count(messages=history)


def test_a_list_of_tools_that_grew_is_counted_anew() -> None:
    model = ScriptedModel()
    tools: list[ToolSpec] = [ECHO]
    one = model.count(tools=tools)
    tools.append(echo_tool("other").spec)
    assert model.count(tools=tools) > one


async def test_a_reply_costs_the_same_after_a_long_history_as_after_a_short_one() -> None:
    looked_at = 0

    class Counted(list[Message]):
        def __getitem__(self, place: Any) -> Any:
            nonlocal looked_at
            looked_at += 1
            return cast("object", super().__getitem__(place))

    history = Counted([UserMessage(text="Go.")])
    model = ScriptedModel("More.")
    for _ in range(500):
        await streamed(model, asked(history))
        history.extend([AssistantMessage(text="More."), UserMessage(text="Go on.")])
    assert looked_at <= 500 * 6


async def test_many_calls_at_once_do_not_disturb_each_other() -> None:
    model = ScriptedModel(lambda request: f"{len(request.messages)}", delay_s=0.001)
    requests = [asked([UserMessage(text="x")] * number) for number in range(20)]
    told = await asyncio.gather(*(streamed(model, request) for request in requests))
    assert [text_of(each) for each in told] == [f"{number}" for number in range(20)]
