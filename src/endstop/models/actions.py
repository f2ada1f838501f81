"""Tool calls for models that were never taught any: each reply is one action, held to a JSON schema.

The reply is either ``{"answer": "…"}`` or ``{"tool": "…", "arguments": {…}}``. The text of an answer is shown
while it streams.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

from endstop.models.stand_ins import GO_ON, NO_OUTPUT
from endstop.ports import (
    AssistantMessage,
    Message,
    ModelRequest,
    ToolMessage,
    ToolRequest,
    ToolSpec,
    UserMessage,
)

_HOW_TO_CALL = (
    'Reply with one JSON object. To use a tool: {"tool": "its name", "arguments": {…}}. '
    'When you know enough: {"answer": "what you have to say"}. The tools:'
)

_ANSWER_BEGINS = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_TOOL_NAMED = re.compile(r'\s*\{\s*"tool"\s*:\s*"([^"\\]*)"\s*(?:,\s*"arguments"\s*:\s*)?')
_STRING_ENDS = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
_UNFINISHED = re.compile(
    r"(?:(?<!\\)(?:\\\\)*)(\\(?:u[0-9a-fA-F]{0,3})?|(?:\\u[dD][89abAB][0-9a-fA-F]{2})(?:\\(?:u[0-9a-fA-F]{0,3})?)?)$"
)


def action_schema(tools: Sequence[ToolSpec]) -> dict[str, object]:
    """What a reply may be: an answer, or a call of one of ``tools``."""
    answer: dict[str, object] = _object({"answer": {"type": "string"}})
    calls = [_object({"tool": {"const": tool.name}, "arguments": _parameters(tool)}) for tool in tools]
    return {"anyOf": [answer, *calls]}


def chat_messages(request: ModelRequest) -> list[dict[str, str]]:
    """The conversation in the roles that every chat template knows, in turns, the user first and last."""
    said: list[tuple[str, str]] = []
    for message in request.messages:
        said += _said(message)
    merged: list[tuple[str, str]] = []
    for role, text in said:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}\n\n{text}")
        else:
            merged.append((role, text))
    if not merged or merged[0][0] == "assistant":
        merged.insert(0, ("user", GO_ON))
    if merged[-1][0] == "assistant":
        merged.append(("user", GO_ON))
    system = _system(request)
    told = [("system", system)] if system else []
    return [{"role": role, "content": _sound(text)} for role, text in (*told, *merged)]


class ActionReader:
    """Reads an action while it is written."""

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        self._text = ""
        self._shown_to: int | None = None
        """How far the answer has been shown; None while this is no answer."""
        self._is_over = False

    def feed(self, piece: str) -> str:
        """The next piece of the reply; what it adds to the answer."""
        self._text += piece
        if self._shown_to is None:
            begins = _ANSWER_BEGINS.match(self._text)
            if begins is None:
                return ""
            self._shown_to = begins.end()
        if self._is_over:
            return ""
        ends = _STRING_ENDS.match(self._text, self._shown_to)
        if ends is not None:
            self._is_over = True
            raw = self._text[self._shown_to : ends.end() - 1]
        else:
            raw = self._text[self._shown_to :]
            unfinished = _UNFINISHED.search(raw)
            raw = raw if unfinished is None else raw[: unfinished.start(1)]
        self._shown_to += len(raw)
        return _decoded(raw)

    def finished(self) -> tuple[str, ToolRequest | None]:
        """What is left when the reply has ended: text that was not shown, or a call, broken if it was cut."""
        if self._shown_to is not None:
            return "", None
        named = _TOOL_NAMED.match(self._text)
        if named is None:
            return self._text, None
        arguments = self._arguments(named.end())
        return "", ToolRequest(id=self._call_id, tool=named[1], arguments=arguments)

    def _arguments(self, start: int) -> str:
        """The arguments as written, without the brace that closes the action around them."""
        try:
            _, end = json.JSONDecoder().raw_decode(self._text, start)
        except (ValueError, RecursionError):
            return self._text[start:]
        return self._text[start:end]


def _said(message: Message) -> list[tuple[str, str]]:
    match message:
        case UserMessage(text=text):
            return [("user", text)] if text.strip() else []
        case ToolMessage(tool=tool, text=text):
            return [("user", f"Result of {tool}:\n{text if text.strip() else NO_OUTPUT}")]
        case AssistantMessage(text=text, calls=calls):
            actions = [f'{{"tool": {json.dumps(one.tool)}, "arguments": {one.arguments}}}' for one in calls]
            spoken = [text] if text.strip() else []
            return [("assistant", "\n".join((*spoken, *actions)))] if spoken or actions else []


def _system(request: ModelRequest) -> str:
    parts = [request.system] if request.system.strip() else []
    if request.tools:
        parts.append(_HOW_TO_CALL)
        parts += [f"{one.name}: {one.description}\n{json.dumps(_parameters(one))}" for one in request.tools]
    return "\n\n".join(parts)


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _parameters(tool: ToolSpec) -> object:
    """The schema of the arguments. One that points elsewhere cannot be part of another: any object does."""
    written = json.dumps(dict(tool.parameters), default=str)
    return {"type": "object"} if '"$ref"' in written else json.loads(written)


def _decoded(raw: str) -> str:
    """The text that the inside of a JSON string stands for; as it is written, if it stands for none."""
    try:
        return cast("str", json.loads(f'"{raw}"', strict=False))
    except ValueError:
        return raw


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
