"""The count of input tokens: an upper bound, and additive."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talking import SEARCH

from endstop.models.counting import most_input_tokens
from endstop.models.extractive import ExtractiveModel
from endstop.ports import AssistantMessage, Message, ToolMessage, ToolRequest, UserMessage

_texts = st.text(max_size=60)
_calls = st.builds(ToolRequest, id=_texts, tool=_texts, arguments=_texts)
_messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, text=_texts),
    st.builds(AssistantMessage, text=_texts, calls=st.lists(_calls, max_size=3).map(tuple)),
    st.builds(ToolMessage, call=_texts, tool=_texts, text=_texts),
)


@pytest.mark.guarantee("A6")
@given(system=_texts, messages=st.lists(_messages, max_size=5), with_tools=st.booleans())
def test_counting_in_parts_never_gives_less(system: str, messages: list[Message], with_tools: bool) -> None:
    tools = (SEARCH,) if with_tools else ()
    for count in (most_input_tokens, ExtractiveModel().count):
        whole = count(system=system, tools=tools, messages=messages)
        parts = count(system=system, tools=tools) + sum(count(messages=(one,)) for one in messages)
        assert parts >= whole


@pytest.mark.guarantee("A6")
@given(system=_texts, messages=st.lists(_messages, max_size=5))
def test_no_text_has_more_bytes_than_were_counted(system: str, messages: list[Message]) -> None:
    written = json.dumps([system, *(str(one) for one in messages)], ensure_ascii=False)
    texts = [system, *(one.text for one in messages)]

    assert most_input_tokens(system=system, messages=messages) >= sum(len(one.encode()) for one in texts)
    assert written


def test_tools_count_with_their_schema_and_what_providers_say_about_them() -> None:
    schema = len(json.dumps(SEARCH.parameters))

    assert most_input_tokens(tools=[SEARCH]) - most_input_tokens() > schema + 600


def test_half_a_character_can_be_counted() -> None:
    assert most_input_tokens(messages=[UserMessage(text="\ud83d")]) > 0
