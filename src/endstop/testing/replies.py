"""What a scripted model can be told to answer, in few words.

says("The answer is 42."); calls("search", query="login"); calls_many(calls("a"), calls("b"));
reply(text="Let me look.", calls=[calls("search", query="login")]); fails(ModelOverloadedError("busy"))
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from endstop.errors import InvalidValueError, brief
from endstop.kernel.evolve import quick
from endstop.ports import ModelRequest, ModelUsage


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCall:
    """A tool call as the model writes it: the arguments may be any text, broken JSON too."""

    tool: str
    arguments: str = "{}"
    id: str | None = None
    """None: the model gives it one of its own."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """One reply. With an ``error`` it breaks off there, after what it has said."""

    text: str = ""
    thought: str = ""
    calls: tuple[WantedCall, ...] = ()
    usage: ModelUsage | None = None
    """None: the model counts by itself."""
    is_truncated: bool = False
    error: BaseException | None = None


WantedReply: TypeAlias = str | ScriptedReply | Callable[[ModelRequest], "str | ScriptedReply"]
"""A text, a reply, or a function that is given the request and answers with one of these."""

_ALLOWED = "a text, says(…), calls(…), reply(…), fails(…), or a function that answers with one of these"


def says(text: str) -> ScriptedReply:
    """A text and no tool call: the model is done."""
    return ScriptedReply(text=text)


def calls(tool: str, /, **arguments: object) -> ScriptedReply:
    """One tool call: ``calls("search", query="login")``."""
    return ScriptedReply(calls=(WantedCall(tool=tool, arguments=_json(arguments)),))


def calls_many(*wanted: ScriptedReply | WantedCall, text: str = "") -> ScriptedReply:
    """Several tool calls in one reply: ``calls_many(calls("search", query="a"), calls("list"))``."""
    return reply(text=text, calls=wanted)


def reply(
    *,
    text: str = "",
    thought: str = "",
    calls: Iterable[ScriptedReply | WantedCall] = (),
    usage: ModelUsage | None = None,
    truncated: bool = False,
) -> ScriptedReply:
    """A reply with everything a reply can have."""
    flat: list[WantedCall] = []
    for each in calls:
        flat.extend(each.calls if isinstance(each, ScriptedReply) else (each,))
    return ScriptedReply(text=text, thought=thought, calls=tuple(flat), usage=usage, is_truncated=truncated)


def fails(error: BaseException, *, after: str = "") -> ScriptedReply:
    """The call fails with ``error``, at once or after having said something."""
    return ScriptedReply(text=after, error=error)


def as_reply(wanted: object) -> ScriptedReply:
    """What a script says, as a reply; a clear error if it is none."""
    if isinstance(wanted, ScriptedReply):
        return wanted
    if isinstance(wanted, str):
        return ScriptedReply(text=wanted)
    raise InvalidValueError("reply", wanted, allowed=_ALLOWED)


def _json(arguments: dict[str, object]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            "arguments",
            brief(arguments),
            allowed="what JSON can say",
            to_do="For text that is no JSON, use WantedCall(tool=…, arguments='…')",
        ) from error
