"""``endstop ask``: a question about a project, answered by the oracle, with its sources (E7, J1)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.errors import UsageError
from endstop.cli.options import Json, amount
from endstop.cli.output import Output
from endstop.cli.running import with_app

if TYPE_CHECKING:
    from endstop.app import App

_MOST_CHARS = 200_000
"""So long may a question be: far more than the budget of most models can take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked, as the command line says it."""

    question: str
    project: str | None
    """None for the current folder, or that of the run it follows."""
    model: str | None
    tree: str | None
    follows: str | None
    """A run, nothing at all for the last one, or None for a new conversation."""
    limits: dict[str, object]
    """Settings that are changed for this question only."""
    on_limit: str


def ask(
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="QUESTION", help='What you want to know; "-" reads it from the input.', show_default=False
        ),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", metavar="FOLDER", help="What it is about; if not given, the current folder."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="NAME", help="provider:model, local:FILE or extractive; else ENDSTOP_MODEL."
        ),
    ] = None,
    max_turns: Annotated[int | None, amount("--max-turns", "At most so many turns.")] = None,
    tokens: Annotated[int | None, amount("--tokens", "At most so many tokens.")] = None,
    cost: Annotated[str | None, amount("--cost", "At most so many dollars.", "USD")] = None,
    timeout: Annotated[int | None, amount("--timeout", "At most so many seconds.", "S")] = None,
    follows: Annotated[
        str | None,
        typer.Option(
            "--continue",
            metavar="[RUN]",
            help="Go on after RUN; without it, in your last conversation about this project.",
            show_default=False,
        ),
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option("--tree", metavar="NAME_OR_FILE", help="What steers it; if not given, oracle-agent."),
    ] = None,
    review: Annotated[
        bool, typer.Option("--review", help="At a limit, pause and let a person decide, rather than end.")
    ] = False,
    is_json: Json = False,
) -> None:
    """Ask something about a project: an agent searches its files and answers, with sources.

    Limits come from your settings (endstop settings); those given here go before them. With no model
    configured a built-in one answers, which only looks things up, and says so.

    \b
    Examples:
      endstop ask "Where are limits checked?"
      endstop ask "How are runs resumed?" --project ~/src/thing --max-turns 10 --cost 0.25
      endstop ask "And who calls that?" --continue
      endstop ask "What is wrong here?" --continue run_3f9c
      endstop ask - --model openai:gpt-4o < question.txt

    In a pipe the answer and its sources are printed, and everything else goes to the standard error.
    Ctrl-C once finishes the turn, twice cuts it; both save the run and leave it open (130).
    The exit code tells the outcome: see endstop --help.

    With --json: lines with event (started, turn, notice, ended) and run; ended has conversation, sources
    (title, location, passage) and what endstop resume --json has.
    """
    limits = {
        "max_iterations": max_turns,
        "token_budget": tokens,
        "cost_limit_usd": cost,
        "timeout_seconds": timeout,
    }
    asked = Asked(
        question=_read(question),
        project=project,
        model=model,
        tree=tree,
        follows=follows,
        limits={name: value for name, value in limits.items() if value is not None},
        on_limit="review" if review else "finish",
    )

    async def work(app: App, output: Output) -> int:
        from endstop.cli.answering import answered

        return await answered(app, output, asked)

    with_app(work, is_json=is_json)


def _read(given: str | None) -> str:
    """The question, from the command line or the standard input."""
    question = _read_input() if given == "-" else given
    if question is None or not question.strip():
        raise UsageError(
            "No question was given" if given is None else "The question is empty",
            to_do='Ask something, such as endstop ask "Where are limits checked?"',
        )
    if len(question) > _MOST_CHARS:
        raise UsageError(
            "The question is too long",
            allowed=f"{_MOST_CHARS:,} characters",
            to_do="Put it into a file of the project, and ask about that",
        )
    if not _is_text(question):
        raise _no_text()
    return question


def _read_input() -> str:
    try:
        return sys.stdin.read(_MOST_CHARS + 1)
    except UnicodeDecodeError:
        raise _no_text() from None


def _is_text(question: str) -> bool:
    """Whether all of it is text: bytes that are none come as half characters."""
    try:
        question.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_text() -> UsageError:
    return UsageError("The question is no text", allowed="text", to_do="Ask in words")
