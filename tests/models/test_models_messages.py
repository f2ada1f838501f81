"""Histories as providers take them: whatever is in ours, what is sent is in order."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from endstop.models.messages import provider_messages, tools_called
from endstop.ports import AssistantMessage, Message, ToolMessage, ToolRequest, UserMessage


def call(id: str = "call-1", tool: str = "search", arguments: str = '{"q": 1}') -> ToolRequest:  # noqa: A002
    return ToolRequest(id=id, tool=tool, arguments=arguments)


def result(id: str = "call-1", text: str = "found", tool: str = "search") -> ToolMessage:  # noqa: A002
    return ToolMessage(call=id, tool=tool, text=text)


def shape(messages: Sequence[ModelMessage]) -> list[list[str]]:
    """Each message as the texts of its parts."""
    return [[_part(part) for part in message.parts] for message in messages]


def _part(part: object) -> str:
    match part:
        case UserPromptPart(content=text):
            return f"user: {text}"
        case TextPart(content=text):
            return f"says: {text}"
        case ToolCallPart(tool_name=tool, args=arguments, tool_call_id=id_):
            return f"calls {id_}: {tool} {arguments}"
        case ToolReturnPart(content=text, tool_call_id=id_, outcome=outcome):
            return f"{outcome} {id_}: {text}"
        case _:
            raise AssertionError(part)


def test_a_plain_conversation_stays_as_it_is() -> None:
    sent = provider_messages(
        [UserMessage(text="Hello"), AssistantMessage(text="Hi"), UserMessage(text="Why?")], system="Be kind."
    )

    assert shape(sent) == [["user: Hello"], ["says: Hi"], ["user: Why?"]]
    assert isinstance(sent[-1], ModelRequest)
    assert sent[-1].instructions == "Be kind."


@pytest.mark.guarantee("A2")
def test_results_follow_their_calls_at_once_and_hints_come_after_all_of_them() -> None:
    sent = provider_messages(
        [
            UserMessage(text="Find it"),
            AssistantMessage(text="Let me see", calls=(call("a"), call("b"))),
            result("b", "second"),
            UserMessage(text="Wrap up"),
            result("a", "first"),
        ]
    )

    assert shape(sent) == [
        ["user: Find it"],
        ["says: Let me see", 'calls a: search {"q": 1}', 'calls b: search {"q": 1}'],
        ["success a: first", "success b: second", "user: Wrap up"],
    ]


def test_a_call_without_a_result_gets_one() -> None:
    sent = provider_messages(
        [UserMessage(text="Go"), AssistantMessage(calls=(call(),)), UserMessage(text="So?")]
    )

    assert shape(sent)[-1] == ["failed call-1: (interrupted: there is no result)", "user: So?"]


def test_a_result_without_a_call_is_kept_as_words() -> None:
    sent = provider_messages([UserMessage(text="Go"), result("nobody", "lost")])

    assert shape(sent) == [["user: Go\n\nResult of search: lost"]]


def test_an_error_is_marked_as_one() -> None:
    failed = ToolMessage(call="call-1", tool="search", text="no such file", is_error=True)
    sent = provider_messages([UserMessage(text="Go"), AssistantMessage(calls=(call(),)), failed])

    assert shape(sent)[-1] == ["failed call-1: no such file"]


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_empty_texts_are_left_out(blank: str) -> None:
    sent = provider_messages(
        [
            UserMessage(text="One"),
            AssistantMessage(text=blank),
            UserMessage(text=blank),
            UserMessage(text="Two"),
            AssistantMessage(text=blank, calls=(call(),)),
            result(text=blank),
        ]
    )

    assert shape(sent) == [
        ["user: One\n\nTwo"],
        ['calls call-1: search {"q": 1}'],
        ["success call-1: (no output)"],
    ]


@pytest.mark.parametrize("history", [[], [AssistantMessage(text="Hi")], [UserMessage(text=" ")]])
def test_the_user_speaks_first_and_last(history: list[Message]) -> None:
    sent = provider_messages(history)

    assert shape(sent)[0] == ["user: Go on."]
    assert shape(sent)[-1] == ["user: Go on."]


def test_between_two_replies_the_user_speaks() -> None:
    sent = provider_messages([UserMessage(text="Go"), AssistantMessage(text="A"), AssistantMessage(text="B")])

    assert shape(sent) == [["user: Go"], ["says: A"], ["user: Go on."], ["says: B"], ["user: Go on."]]


@pytest.mark.parametrize(
    "arguments", ["{broken", "[1]", '"text"', "null", '{"a": NaN}', "{" * 100_000, '{"a": "\ud83d"}']
)
def test_arguments_that_are_no_object_are_wrapped_in_one(arguments: str) -> None:
    sent = provider_messages([UserMessage(text="Go"), AssistantMessage(calls=(call(arguments=arguments),))])

    part = sent[1].parts[0]
    assert isinstance(part, ToolCallPart)
    assert list(part.args_as_dict()) == ["unreadable_arguments"]


def test_no_arguments_are_an_empty_object() -> None:
    sent = provider_messages([UserMessage(text="Go"), AssistantMessage(calls=(call(arguments=" "),))])

    assert shape(sent)[1] == ["calls call-1: search {}"]


def test_ids_that_are_odd_or_taken_are_replaced_and_results_still_find_their_calls() -> None:
    odd, taken = call("an odd: id", arguments="{}"), call("same", arguments="{}")
    sent = provider_messages(
        [
            UserMessage(text="Go"),
            AssistantMessage(calls=(odd, taken, taken)),
            result("an odd: id", "one"),
            result("same", "two"),
            result("same", "three"),
            AssistantMessage(calls=(taken,)),
            result("same", "four"),
        ]
    )

    assert shape(sent)[2] == ["success call_0: one", "success same: two", "success call_2: three"]
    assert shape(sent)[4] == ["success call_3: four"]


def test_names_of_tools_are_made_safe() -> None:
    calls = (
        call("a", tool="my tool!"),
        call("b", tool=""),
        call("c", tool="x" * 99),
        call("d", tool="my tool!"),
    )

    assert tools_called([AssistantMessage(calls=calls)]) == ["my_tool_", "unnamed", "x" * 64]


_texts = st.text(st.characters(), max_size=8)
_ids = st.sampled_from(["a", "b", "", "odd id", "x" * 70])
_calls = st.builds(
    ToolRequest, id=_ids, tool=_texts, arguments=st.sampled_from(["{}", "{", "[]", '{"a": 1}'])
)
_messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, text=_texts),
    st.builds(AssistantMessage, text=_texts, calls=st.lists(_calls, max_size=3).map(tuple)),
    st.builds(ToolMessage, call=_ids, tool=_texts, text=_texts),
)


@given(history=st.lists(_messages, max_size=12), system=_texts)
def test_any_history_at_all_is_sent_in_order(history: list[Message], system: str) -> None:
    sent = provider_messages(history, system=system)

    assert [type(one) for one in sent] == [ModelRequest, ModelResponse] * (len(sent) // 2) + [ModelRequest]
    ids: list[str] = []
    for before, after in zip(sent[1::2], sent[2::2], strict=True):
        calls = [part for part in before.parts if isinstance(part, ToolCallPart)]
        returns = [part for part in after.parts if isinstance(part, ToolReturnPart)]
        assert [part.tool_call_id for part in calls] == [part.tool_call_id for part in returns]
        assert list(after.parts[: len(returns)]) == returns
        assert all(isinstance(json.loads(str(part.args)), dict) for part in calls)
        ids += [part.tool_call_id for part in calls]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in ids)
