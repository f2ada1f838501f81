"""Our messages as pydantic-ai's, in an order that every provider takes.

Providers refuse whole requests over details: a call without a result, a result that does not directly follow
its call, an empty text, an id or a name with an odd character, arguments that are no JSON object. A history
may hold all of these, because models write them; here they are made sound, and nothing is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic_ai import messages as theirs

from endstop.models.stand_ins import GO_ON, NO_OUTPUT, NO_RESULT
from endstop.ports import AssistantMessage, Message, ToolMessage, ToolRequest, UserMessage

_SAFE_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")


def provider_messages(messages: Sequence[Message], *, system: str = "") -> list[theirs.ModelMessage]:
    """The conversation as a provider is sent it: user first, user last, each call with its result."""
    history = _History()
    for message in messages:
        match message:
            case UserMessage():
                history.user_said(message.text)
            case AssistantMessage():
                history.assistant_said(message)
            case ToolMessage():
                history.tool_answered(message)
    return history.finished(system)


def tools_called(messages: Iterable[Message]) -> list[str]:
    """The names under which past calls are sent, each once."""
    calls = (call for message in messages if isinstance(message, AssistantMessage) for call in message.calls)
    return list(dict.fromkeys(_safe_name(call.tool) for call in calls))


@dataclass(slots=True)
class _History:
    """Gathers what the user's side says until the assistant speaks again."""

    sent: list[theirs.ModelMessage] = field(default_factory=list[theirs.ModelMessage])
    texts: list[str] = field(default_factory=list[str])
    open_calls: list[tuple[ToolRequest, str]] = field(default_factory=list[tuple[ToolRequest, str]])
    results: dict[str, theirs.ToolReturnPart] = field(default_factory=dict[str, theirs.ToolReturnPart])
    ids: set[str] = field(default_factory=set[str])

    def user_said(self, text: str) -> None:
        if text.strip():
            self.texts.append(_sound(text))

    def assistant_said(self, message: AssistantMessage) -> None:
        parts: list[theirs.ModelResponsePart] = []
        if message.text.strip():
            parts.append(theirs.TextPart(content=_sound(message.text)))
        if not parts and not message.calls:
            return
        self._end_request()
        for call in message.calls:
            safe_id = self._safe_id(call.id)
            self.open_calls.append((call, safe_id))
            name, arguments = _safe_name(call.tool), _safe_arguments(call.arguments)
            parts.append(theirs.ToolCallPart(tool_name=name, args=arguments, tool_call_id=safe_id))
        self.sent.append(theirs.ModelResponse(parts=parts))

    def tool_answered(self, message: ToolMessage) -> None:
        text = message.text if message.text.strip() else NO_OUTPUT
        for call, safe_id in self.open_calls:
            if call.id == message.call and safe_id not in self.results:
                self.results[safe_id] = _result(call, safe_id, text, message.is_error)
                return
        self.user_said(f"Result of {message.tool}: {text}")

    def finished(self, system: str) -> list[theirs.ModelMessage]:
        self._end_request()
        last = self.sent[-1]
        assert isinstance(last, theirs.ModelRequest)
        if system.strip():
            last.instructions = _sound(system)
        return self.sent

    def _end_request(self) -> None:
        """Send the user's side: all results first, in the order of their calls, then what was said."""
        parts: list[theirs.ModelRequestPart] = []
        for call, safe_id in self.open_calls:
            missing = _result(call, safe_id, NO_RESULT, is_error=True)
            parts.append(self.results.get(safe_id, missing))
        if self.texts or not parts:
            parts.append(theirs.UserPromptPart(content="\n\n".join(self.texts) or GO_ON))
        self.sent.append(theirs.ModelRequest(parts=parts))
        self.open_calls, self.results, self.texts = [], {}, []

    def _safe_id(self, given: str) -> str:
        """The id as it is if it is sound and new; else one of ours."""
        chosen, number = given, len(self.ids)
        while not _SAFE_ID.fullmatch(chosen) or chosen in self.ids:
            chosen, number = f"call_{number}", number + 1
        self.ids.add(chosen)
        return chosen


def _result(call: ToolRequest, safe_id: str, text: str, is_error: bool) -> theirs.ToolReturnPart:
    return theirs.ToolReturnPart(
        tool_name=_safe_name(call.tool),
        content=_sound(text),
        tool_call_id=safe_id,
        outcome="failed" if is_error else "success",
    )


def _safe_name(name: str) -> str:
    return _UNSAFE.sub("_", name)[:64] or "unnamed"


def _safe_arguments(arguments: str) -> str:
    """Arguments that parse as a JSON object stay as they are; others are wrapped so that they do."""
    if not arguments.strip():
        return "{}"
    try:
        parsed = cast("object", json.loads(arguments, parse_constant=_refuse))
        is_sound = isinstance(parsed, dict) and _sound(arguments) == arguments
    except (ValueError, RecursionError):
        is_sound = False
    return arguments if is_sound else json.dumps({"unreadable_arguments": _sound(arguments)})


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _sound(text: str) -> str:
    """Text that can be sent: half characters are replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
