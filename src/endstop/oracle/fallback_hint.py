"""The hint an agent gets when it is to try again: made of what it said itself, where it said something."""

from __future__ import annotations

from collections.abc import Mapping

from endstop.kernel.wording import sentence
from endstop.oracle.situation import Situation
from endstop.signals import JsonValue, Signal, SignalType

MOST_HINT_CHARS = 1_200
_MOST_PART_CHARS = 300
_MOST_LISTED = 5
_MOST_QUESTION_CHARS = 300


def hint_for(situation: Situation) -> str:
    """What to tell the model. Never empty; at most 1,200 characters."""
    return " ".join([*_what_is_wrong(situation), *_what_to_do(situation), _how_to_end(situation)])[
        :MOST_HINT_CHARS
    ]


def said(signal: Signal | None, field: str) -> str:
    """A field of the signal as one short line, whatever it was read as; '' without one."""
    value = None if signal is None else signal.fields.get(field)
    return "" if value is None else _line(value)


def _what_is_wrong(situation: Situation) -> list[str]:
    signal = situation.signal
    if situation.tool_errors_in_a_row:
        return ["Your tool calls fail. Read what they say, and change the arguments or the tool."]
    if signal is not None and signal.type is SignalType.STUCK:
        blocker = said(signal, "blocker")
        return [f"You are stuck: {blocker}." if blocker else "You are stuck."]
    if signal is not None:
        return [f"You are not sure ({signal.confidence:g})."]
    if situation.text.strip():
        return ["You have not said how you stand."]
    return ["Your last reply says nothing."]


def _what_to_do(situation: Situation) -> list[str]:
    signal = situation.signal
    told: list[str] = []
    if suggestions := said(signal, "suggestions"):
        told.append(f"You suggested this yourself, so do it now: {suggestions}.")
    if workaround := said(signal, "workaround"):
        told.append(f"Do what you named as a way round: {workaround}.")
    if attempted := said(signal, "attempted"):
        told.append(f"Do not try these again: {attempted}.")
    if not told:
        told.append("Look for another word for the same thing, or list the files and read the likeliest one.")
    return told


def _how_to_end(situation: Situation) -> str:
    question = _line(situation.question)[:_MOST_QUESTION_CHARS]
    goal = f"The question is: {sentence(question)} " if question else ""
    return f"{goal}If that does not help, answer with what you have. End with a signal."


def _line(value: JsonValue) -> str:
    """A value from a signal on one line: lists with semicolons, and no more than a few of them."""
    if isinstance(value, tuple):
        text = "; ".join(filter(None, (_line(one) for one in value[:_MOST_LISTED])))
    elif isinstance(value, Mapping):
        text = "; ".join(f"{key}: {_line(one)}" for key, one in list(value.items())[:_MOST_LISTED])
    else:
        text = " ".join(str(value)[: 4 * _MOST_PART_CHARS].split())
    return text[:_MOST_PART_CHARS].rstrip(" .;")
