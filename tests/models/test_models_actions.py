"""Actions: tool calls as JSON held to a schema, and answers shown while they are written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talking import SEARCH, asking

from endstop.models.actions import ActionReader, action_schema, chat_messages
from endstop.ports import AssistantMessage, Message, ToolMessage, ToolRequest, ToolSpec, UserMessage


def read(text: str, size: int = 1) -> tuple[str, str, ToolRequest | None]:
    """What is shown while it is written, what is left at the end, and the call."""
    reader = ActionReader("call_1")
    shown = "".join(reader.feed(text[at : at + size]) for at in range(0, len(text), size))
    return (shown, *reader.finished())


@given(answer=st.text(max_size=40), size=st.integers(1, 7), ascii_only=st.booleans())
def test_an_answer_is_shown_whole_however_it_is_cut(answer: str, size: int, ascii_only: bool) -> None:
    written = json.dumps({"answer": answer}, ensure_ascii=ascii_only, indent=2)

    assert read(written, size) == (answer, "", None)


def test_an_answer_is_shown_while_it_is_written() -> None:
    reader = ActionReader("call_1")

    assert [reader.feed(piece) for piece in ('{"ans', 'wer": "It ', "is \\", 'n\\"so', '\\""}', " ")] == [
        "",
        "It ",
        "is ",
        '\n"so',
        '"',
        "",
    ]


def test_a_character_in_two_halves_is_shown_when_both_are_there() -> None:
    reader = ActionReader("call_1")
    shown = [reader.feed(piece) for piece in ('{"answer": "a\\ud83', "c\\u", "df89", 'b"}')]

    assert shown == ["a", "", "🎉", "b"]


def test_a_call_is_told_with_its_arguments_as_written() -> None:
    written = '{\n "tool": "search_code",\n "arguments": {"query":  "}\\"{"}\n}'

    assert read(written) == (
        "",
        "",
        ToolRequest(id="call_1", tool="search_code", arguments='{"query":  "}\\"{"}'),
    )


@pytest.mark.parametrize("arguments", ['{"query": "log', "{", ""])
def test_a_call_that_was_cut_off_is_told_broken(arguments: str) -> None:
    call = read(f'{{"tool": "search_code", "arguments": {arguments}')[2]

    assert call == ToolRequest(id="call_1", tool="search_code", arguments=arguments)


def test_an_answer_that_was_cut_off_is_shown_as_far_as_it_came() -> None:
    assert read('{"answer": "It is so\\u00') == ("It is so", "", None)


@pytest.mark.parametrize("written", ["just words", "", '{"something": "else"}', '{"to'])
def test_what_is_no_action_is_text(written: str) -> None:
    assert read(written) == ("", written, None)


def test_an_escape_that_stands_for_nothing_is_shown_as_written() -> None:
    assert read('{"answer": "a\\qb"}', size=99) == ("a\\qb", "", None)


def test_the_schema_allows_an_answer_or_a_call_of_a_tool_that_is_offered() -> None:
    schema = action_schema([SEARCH])
    answer, call = schema["anyOf"]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType] - a list

    assert answer["required"] == ["answer"]
    assert call["properties"] == {"tool": {"const": "search_code"}, "arguments": dict(SEARCH.parameters)}


def test_a_schema_that_points_elsewhere_is_replaced_by_any_object() -> None:
    parameters: dict[str, object] = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}
    tool = ToolSpec(name="odd", description="", parameters=parameters)

    assert '"arguments": {"type": "object"}' in json.dumps(action_schema([tool]))


def test_a_conversation_has_the_two_roles_in_turns() -> None:
    called = ToolRequest(id="1", tool="search_code", arguments='{"query": "x"}')
    messages = chat_messages(
        asking(
            "One",
            "Two",
            AssistantMessage(text="Let me see", calls=(called,)),
            ToolMessage(call="1", tool="search_code", text=" "),
            UserMessage(text="Wrap up"),
            UserMessage(text=""),
            system="Be kind.",
            tools=[SEARCH],
        )
    )

    assert [one["role"] for one in messages] == ["system", "user", "assistant", "user"]
    assert messages[0]["content"].startswith("Be kind.\n\nReply with one JSON object.")
    assert "search_code: Search the code." in messages[0]["content"]
    assert messages[1]["content"] == "One\n\nTwo"
    assert messages[2]["content"] == 'Let me see\n{"tool": "search_code", "arguments": {"query": "x"}}'
    assert messages[3]["content"] == "Result of search_code:\n(no output)\n\nWrap up"


@pytest.mark.parametrize("history", [[AssistantMessage(text="Hi")], [AssistantMessage()], []])
def test_the_user_speaks_first_and_last(history: list[Message]) -> None:
    request = asking("x")
    told = chat_messages(type(request)(messages=history, max_output_tokens=1))

    assert told[0] == told[-1] == {"role": "user", "content": "Go on."}
