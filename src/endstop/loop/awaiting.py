"""The tool by which an agent tells the user where it stands, and waits for an answer (D7)."""

from __future__ import annotations

import json
from typing import cast

from endstop.errors import ToolArgumentsError
from endstop.loop.agent import AWAIT_USER
from endstop.ports import ToolContext, ToolResult, ToolSpec, ToolTraits

_SPEC = ToolSpec(
    name=AWAIT_USER,
    description="Tell the user where you stand, or ask a question, and wait for the answer.",
    parameters={
        "type": "object",
        "properties": {"message": {"type": "string", "description": "What the user should know, or answer."}},
        "required": ["message"],
        "additionalProperties": False,
    },
)


class AwaitUser:
    """Remembers what the user is to be asked; the driver pauses the run for it after the turn."""

    spec = _SPEC
    traits = ToolTraits()

    def __init__(self) -> None:
        self._question: str | None = None

    async def call(self, arguments: str, context: ToolContext) -> ToolResult:  # noqa: ARG002 - the port's shape
        self._question = _message(arguments)
        return ToolResult(text="The user has been told. Wait for the answer.")

    def taken(self) -> str | None:
        """What the user is to be asked, once."""
        question, self._question = self._question, None
        return question


def _message(arguments: str) -> str:
    try:
        value: object = json.loads(arguments)
    except (ValueError, RecursionError):
        value = None
    message = cast("dict[str, object]", value).get("message") if isinstance(value, dict) else None
    if not isinstance(message, str) or not message.strip():
        raise ToolArgumentsError(
            f"{AWAIT_USER} takes one argument", allowed='{"message": "what the user should know"}'
        )
    return message
