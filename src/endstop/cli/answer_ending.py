"""An answer told when it is there: the text, what it rests on, and how it ended if that was not plain."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from endstop.cli.answer_view import drawn_answer
from endstop.cli.asides import Asides
from endstop.cli.ending import ending_json
from endstop.cli.output import Output
from endstop.cli.sources import source_lines, sources_json, sources_of
from endstop.cli.texts import one_line
from endstop.kernel.outcome import (
    Abandoned,
    AwaitingUser,
    Cancelled,
    Completed,
    Failed,
    Forced,
    Outcome,
    Stopped,
    UnderReview,
)

if TYPE_CHECKING:
    from endstop.runner import Run

_LINE_CHARS = 300


def tell_answer(output: Output, asides: Asides, run: Run, conversation_id: str) -> None:
    """Print what came of a question."""
    answer = run.answer
    sources = sources_of(run.facts, answer)
    if output.is_json:
        is_over = not isinstance(run.outcome, UnderReview | AwaitingUser)
        ended = ending_json(run, run.audit() if is_over else None)
        found = {"conversation": conversation_id, "sources": sources_json(sources)}
        output.json_line({"event": "ended", **ended, **found})
        return
    if answer.strip() and output.is_terminal:
        output.say()
        output.draw(drawn_answer(answer))
    elif answer.strip():
        output.say(answer.strip())
    if sources:
        output.say()
        output.say("Sources", style="bold")
        for line in source_lines(sources):
            output.say(f"  {line}")
    line = "" if run.outcome is None else ending_line(run.id, run.outcome)
    if line:
        asides.say()
        asides.say(line, style="yellow")


def ending_line(run_id: str, outcome: Outcome) -> str:
    """How a run ended and what to do about it, in a line; nothing for a plain success."""
    how = one_line(str(outcome), _LINE_CHARS).rstrip(".")
    match outcome:
        case Completed(warnings=()):
            return ""
        case UnderReview():
            return f"{_begun(how)}. Let it go on: endstop resume {run_id} --grant-turns 10"
        case AwaitingUser(question=question):
            asked = one_line(question, _LINE_CHARS)
            return f'It asks you: {asked} Answer: endstop resume {run_id} --answer "…"'
        case Completed() | Forced() | Stopped() | Abandoned() | Cancelled() | Failed():
            return f"{_begun(how)}. Why: endstop explain {run_id}"
        case _:
            assert_never(outcome)


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
