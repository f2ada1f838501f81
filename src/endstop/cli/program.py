"""The program ``endstop``: its commands, and what becomes of whatever they raise."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from endstop.cli.ask import ask
from endstop.cli.audit import audit
from endstop.cli.bound import bound
from endstop.cli.build import build
from endstop.cli.cancel import cancel
from endstop.cli.demo import demo
from endstop.cli.doctor import doctor
from endstop.cli.errors import DEBUG, USAGE, exit_code_of, fault, tell, usage_error
from endstop.cli.explain import explain
from endstop.cli.following import with_continue
from endstop.cli.output import ReaderGone
from endstop.cli.policy import policy
from endstop.cli.resume import resume
from endstop.cli.review import review
from endstop.cli.runs import runs
from endstop.cli.serve import serve
from endstop.cli.session import session
from endstop.cli.settings import settings
from endstop.cli.show import show
from endstop.cli.tokens import tokens
from endstop.cli.tree import tree
from endstop.cli.users import users
from endstop.cli.worker import worker
from endstop.errors import EndstopError

BROKEN_PIPE = 141
"""Whoever read our output has gone: 128 + SIGPIPE, as shells know it."""

INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT. What was under way is saved and left open."""

_COMMANDS: dict[Callable[..., None] | typer.Typer, str] = {
    ask: "Ask about a project: an answer, with its sources.",
    build: "Build a change in a repository, priced first.",
    session: "See what sessions built; accept it or discard it.",
    policy: "See and change the rules of coding sessions.",
    serve: "Serve the page and the API, to you by a link.",
    worker: "Drive the runs that servers hand out.",
    demo: "Watch agents that try to run for ever being stopped.",
    runs: "List runs, newest first, and how they ended.",
    show: "Show one run: budget, timeline, answer, sources.",
    explain: "Tell why a run stopped, with evidence.",
    resume: "Go on with a run that is paused or was left open.",
    cancel: "End a run, also one of another process.",
    review: "Decide whether a run that met a limit may go on.",
    audit: "Prove from its record that a run kept its promises.",
    bound: "Tell what a run can use at most, before it runs.",
    tree: "See, check and change the trees that steer agents.",
    doctor: "Say what is configured, what is missing, what to do.",
    settings: "See and change what agents may use by default.",
    users: "See and change who may use a server of yours.",
    tokens: "Make and revoke tokens, for programs and others.",
}


class _InOrder(TyperGroup):
    """Lists the commands in the order in which they are named above, whatever they are."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return [_name(command) for command in _COMMANDS]


def _name(command: Callable[..., None] | typer.Typer) -> str:
    return str(command.info.name) if isinstance(command, typer.Typer) else command.__name__


_app = typer.Typer(
    cls=_InOrder,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command, _summary in _COMMANDS.items():
    if isinstance(_command, typer.Typer):
        _app.add_typer(_command, short_help=_summary)
    else:
        _app.command(_name(_command), short_help=_summary)(_command)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"endstop {version('endstop')}")
        raise typer.Exit


@_app.callback()
def _endstop(  # pyright: ignore[reportUnusedFunction] - typer calls it
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and exit."),
    ] = False,
) -> None:
    """Agents that always end: on purpose, inside their budget, with their work saved.

    \b
    Start here:
      endstop ask "…"           an answer about the project in this folder, with sources
      endstop build "…"         a change in your repository: priced first, on its own branch
      endstop serve --open      the page, in your browser
      endstop demo              watch agents that try to run for ever being stopped
      endstop runs              every run, and how it ended
      endstop explain last      why the last run stopped, with evidence
      endstop doctor            what is configured, what is missing, what to do

    \b
    RUN is the id of a run, the first letters of one, or "last".
    --json prints JSON, for programs, wherever it is given.

    \b
    Exit codes:
      0  success                       4  abandoned or cancelled
      1  failure                       5  stopped by a limit
      2  refused: nothing was done     6  paused: a person is asked
      3  with a warning, or forced   130  Ctrl-C: saved, and left open to be resumed

    \b
    Environment:
      ENDSTOP_HOME          where the database is kept
      ENDSTOP_DATABASE_URL  another database: sqlite:///file.db, postgresql://user@host/name
      ENDSTOP_MODEL         provider:model, local:/path/to/file.gguf, or extractive
      ENDSTOP_USER          who decides, grants and cancels, as it stands in the record
      NO_COLOR              no colour on a terminal
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and leave with its exit code. No traceback reaches a user."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _make_sure_of_streams()
    try:
        code = _carried_out(given)
    except ReaderGone:
        code = BROKEN_PIPE
    try:
        sys.stdout.flush()
    except OSError:  # what could not be written was said; at the exit it would be tried again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or BROKEN_PIPE
    sys.exit(code)


def _make_sure_of_streams() -> None:
    """Neither a stream that is closed nor one that cannot show a letter must end a command."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - it is used until the process ends
        reconfigure: Any = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _carried_out(given: Sequence[str]) -> int:
    is_json = "--json" in given
    try:
        returned: Any = _app(args=with_continue(given), prog_name="endstop", standalone_mode=False)
    except ReaderGone:
        raise
    except EndstopError as error:
        tell(error, is_json=is_json)
        return exit_code_of(error)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if hasattr(error, "format_message"):  # the parser's own; its class moved between versions of typer
            tell(usage_error(error), is_json=is_json)
            return USAGE
        if os.environ.get(DEBUG):
            raise
        tell(fault(error), is_json=is_json)
        return 1
    return returned if isinstance(returned, int) else 0
