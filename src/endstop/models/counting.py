"""How many input tokens a call has at most, without asking anybody.

A token stands for at least one byte of UTF-8, whatever the tokenizer, so bytes are an upper bound. What a
provider adds around our text (roles, separators, its own words on how to call tools) is bounded by constants
that are larger than any seen. English prose is counted about four times too high. That is meant: it is what
is set aside before a call. Once a call has been made, drivers go by the provider's own count of it and count
only what is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import assert_never

from endstop.ports import AssistantMessage, Message, ToolMessage, ToolRequest, ToolSpec, UserMessage

_MESSAGE_FRAME = 32
"""Tokens around a message: its role, where it begins and ends, a word put in to keep the order of roles."""

_CALL_FRAME = 160
"""Tokens around a tool call or its result: ids, names of fields, a stand-in for what is missing."""

_TOOL_FRAME = 64
"""Tokens around the description of one tool."""

_TOOL_PROMPT = 700
"""What a provider tells a model about tools as such; up to about 600 were seen."""


def most_input_tokens(
    *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
) -> int:
    """An upper bound. Parts counted apart add up to at least as much as the whole."""
    count = _MESSAGE_FRAME + _bytes(system)
    if tools:
        count += _TOOL_PROMPT + sum(_of_tool(tool) for tool in tools)
    has_calls = False
    for message in messages:
        count += _MESSAGE_FRAME + _of_message(message)
        has_calls = has_calls or bool(isinstance(message, AssistantMessage) and message.calls)
    if has_calls and not tools:
        # Some providers must be told of tools again when only past calls of them are left.
        count += _TOOL_PROMPT
    return count


def _of_tool(tool: ToolSpec) -> int:
    return _TOOL_FRAME + _bytes(tool.name) + _bytes(tool.description) + len(_json(tool.parameters))


def _of_message(message: Message) -> int:
    match message:
        case UserMessage():
            return _bytes(message.text)
        case AssistantMessage():
            return _bytes(message.text) + sum(_of_call(call) for call in message.calls)
        case ToolMessage():
            return _CALL_FRAME + _bytes(message.call) + _bytes(message.tool) + _bytes(message.text)
        case _:
            assert_never(message)


def _of_call(call: ToolRequest) -> int:
    # Written anew by a template, JSON may get white space and escapes it did not have.
    spaces = call.arguments.count(",") + call.arguments.count(":")
    return _CALL_FRAME + _bytes(call.id) + 2 * _bytes(call.tool) + len(_json(call.arguments)) + spaces


def _json(value: object) -> str:
    return json.dumps(value, default=str)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
