"""What an agent does on the way to its answer, a line each: tool calls and what came of them, thoughts."""

from __future__ import annotations

import json
from typing import cast

from endstop.cli.progress import Progress, Step
from endstop.cli.texts import count, one_line
from endstop.events.facts import Fact, Thought
from endstop.kernel.budget import Budget
from endstop.kernel.observation import CallStatus, ToolCalled, ToolFinished

_ARGUMENT_CHARS = 50
_OUTCOME_CHARS = 60
_THOUGHT_CHARS = 100
_GAP = "\n\n"
"""Between two things that were found."""

_NOTHING = ("Nothing found", "No file", "There are no")
"""How the results of tools begin that have found nothing."""


class Deeds(Progress):
    """A run followed fact by fact, tool call by tool call."""

    def __init__(self, *, run_id: str, budget: Budget) -> None:
        self._called: dict[str, str] = {}
        """The arguments of the calls under way."""
        super().__init__(run_id=run_id, budget=budget)

    def add(self, fact: Fact) -> Step | None:
        """Take in a fact; what is worth a line about it."""
        step = super().add(fact)
        return _deed(fact, self._called) if step is None else step


def _deed(fact: Fact, called: dict[str, str]) -> Step | None:
    match fact.payload:
        case ToolCalled(call=call, arguments=arguments):
            called[call] = arguments_shown(arguments)
            return None
        case ToolFinished(call=call, tool=tool) as finished:
            given = called.pop(call, "")
            text = f"{one_line(tool, 40)} {given}".rstrip() + f" … {outcome_shown(finished)}"
            return Step(kind="tool", text=text, data={})
        case Thought(text=text) if text.strip():
            return Step(kind="thought", text=f"thought: {one_line(text, _THOUGHT_CHARS)}", data={})
        case _:
            return None


def arguments_shown(arguments: str) -> str:
    """The words that a tool was called with: what it was to look for, or where."""
    try:
        given: object = json.loads(arguments)
    except ValueError:
        return one_line(arguments, _ARGUMENT_CHARS)
    if not isinstance(given, dict):
        return one_line(arguments, _ARGUMENT_CHARS)
    values = cast("dict[str, object]", given).values()
    return one_line(" ".join(value for value in values if isinstance(value, str)), _ARGUMENT_CHARS)


def outcome_shown(finished: ToolFinished) -> str:
    """What came of a tool call, in a few words."""
    result = finished.result.strip()
    if finished.status is not CallStatus.EXECUTED:
        return f"{finished.status.value.replace('_', ' ')}: {one_line(result, _OUTCOME_CHARS)}"
    if not result or result.startswith(_NOTHING):
        return "nothing found"
    if finished.tool.startswith("search"):
        return f"{len(result.split(_GAP)):,} found"
    return count(len(result.splitlines()), "line")
