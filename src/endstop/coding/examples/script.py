"""What an example says next: read from the request alone, so that another process can go on with it.

Nothing is remembered between calls. Whose turn it is says the prompt, which attempt or round it is says the
question, and how far the part has come say the calls in it that were answered.
"""

from __future__ import annotations

import re

from endstop.coding.examples.example import Script
from endstop.errors import ModelRefusedError
from endstop.ports import AssistantMessage, ModelRequest, ToolMessage
from endstop.testing.replies import ScriptedReply

_ROLE = re.compile(r"You are the (\w+) of a coding session\.")
_NUMBER = re.compile(r"(?:Attempt|Cycle|Round|Pass) (\d+) of \d+\.")
_CUT_OFF = ("Interrupted:", "Cancelled:")
"""How the answer to a call begins that was under way when its process died, or was told to end."""


def next_reply(script: Script, request: ModelRequest) -> ScriptedReply:
    """The first reply of this part that was not carried out yet; on the last turn, what hands in."""
    part = part_of(request)
    replies = script.get(part)
    if replies is None:
        raise ModelRefusedError(
            f"This example has nothing to say as the {part}",
            allowed=f"its parts: {', '.join(script)}",
            to_do="Run it in the sample repository, with the policy as it comes",
        )
    done = _carried_out(request)
    is_last = len(request.tools) == 1
    return replies[-1] if is_last else replies[min(done, len(replies) - 1)]


def part_of(request: ModelRequest) -> str:
    """Who is asked, and for the how manieth time, such as ``builder 2``."""
    role = _ROLE.match(request.system)
    number = _NUMBER.match(request.messages[0].text)
    words = ("stranger" if role is None else role[1], "" if number is None else number[1])
    return " ".join(word for word in words if word)


def _carried_out(request: ModelRequest) -> int:
    """How many replies are behind it. One whose calls were cut off is made again, as nobody knows
    whether they had their effect."""
    cut_off = {
        message.call
        for message in request.messages
        if isinstance(message, ToolMessage) and message.text.startswith(_CUT_OFF)
    }
    return sum(
        isinstance(message, AssistantMessage)
        and bool(message.calls)
        and not any(call.id in cut_off for call in message.calls)
        for message in request.messages
    )
