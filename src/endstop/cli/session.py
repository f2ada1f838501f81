"""``endstop session``: coding sessions, and what becomes of their work (G8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.options import Json, RunName
from endstop.cli.output import Output
from endstop.cli.running import with_app

if TYPE_CHECKING:
    from endstop.app import App

session = typer.Typer(name="session", no_args_is_help=True, rich_markup_mode=None)


@session.callback()
def session_commands() -> None:
    """Coding sessions (endstop build) and their work: look at it, take it, or throw it away.

    The work of a session is on a branch of its own, endstop/RUN, with a commit for each round. Your own
    files stay as they are until you accept it. RUN may be "last": the last session.

    \b
    Examples:
      endstop session list
      endstop session show last
      endstop session diff last 2            what round 2 changed
      endstop session accept last            merge it into your branch
      endstop session accept last --patch -  or take it as a patch
      endstop session restore last 1         go back to round 1
      endstop session discard last
    """


@session.command("list", short_help="List coding sessions, and what became of their work.")
def list_(is_json: Json = False) -> None:
    """List coding sessions, newest first: how each stands, and what became of its work.

    \b
    Examples:
      endstop session list
      endstop session list --json

    With --json: a list of objects with what endstop runs --json has, work (open, accepted, discarded, gone,
    or null if the repository is not there), branch and rounds.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.session_list import tell_sessions

        return await tell_sessions(app, output)

    with_app(work, is_json=is_json)


@session.command(short_help="Show one session: what happened, evidence, rounds, work.")
def show(run: RunName, is_json: Json = False) -> None:
    """Show one session: what was specified, priced and built, the evidence, the rounds, and its work.

    \b
    Examples:
      endstop session show last

    With --json: an object with what endstop runs --json has, work, and session as endstop build --json has.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.session_list import tell_one

        return await tell_one(app, output, run)

    with_app(work, is_json=is_json)


@session.command(short_help="Show what a session, or one round of it, changed.")
def diff(
    run: RunName,
    round_: Annotated[
        int | None,
        typer.Argument(metavar="[ROUND]", help="Only what this round changed.", show_default=False),
    ] = None,
    is_json: Json = False,
) -> None:
    """Show what a session changed in all, or what one round of it did.

    \b
    Examples:
      endstop session diff last
      endstop session diff run_3f9c 2

    With --json: an object with run, round, since, until, files, added, removed and diff.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.session_work import tell_diff

        return await tell_diff(app, output, run, round_)

    with_app(work, is_json=is_json)


@session.command(short_help="Take the work: merge it, or get it as a patch.")
def accept(
    run: RunName,
    patch: Annotated[
        str | None,
        typer.Option(
            "--patch",
            metavar="FILE",
            help='Write a patch for git apply; "-" prints it. Nothing is changed.',
            show_default=False,
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="BRANCH",
            help="Merge into this branch, which is checked out; else the one it began on.",
            show_default=False,
        ),
    ] = None,
    is_json: Json = False,
) -> None:
    """Take the work of a session: merged into the branch it began on, which has to be checked out.

    Refused, with everything as it was, if changes of yours are in the way or if it conflicts. After a merge
    the branch and the worktree of the session are gone; its rounds can still be looked at.

    \b
    Examples:
      endstop session accept last
      endstop session accept run_3f9c --into main
      endstop session accept last --patch work.patch
      endstop session accept last --patch - | git apply

    With --json: an object with run, how (merge or patch), branch, commit, is_fast_forward, file and patch.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.session_work import accepted

        return await accepted(app, output, run, patch=patch, into=into)

    with_app(work, is_json=is_json)


@session.command(short_help="Throw the work away; its last commit stays reachable.")
def discard(
    run: RunName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether you mean it.")] = False,
    is_json: Json = False,
) -> None:
    """Throw the work of a session away: its worktree and its branch. On a terminal you are asked first.

    Nothing is lost for good: its last commit stays reachable under refs/endstop/RUN/discarded.

    \b
    Examples:
      endstop session discard last --yes

    With --json: an object with run, commit and ref.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.session_work import discarded

        return await discarded(app, output, run, is_sure=yes)

    with_app(work, is_json=is_json)


@session.command(short_help="Bring back the work as it was after a round.")
def restore(
    run: RunName,
    round_: Annotated[int, typer.Argument(metavar="ROUND", help="Which round.", show_default=False)],
    is_json: Json = False,
) -> None:
    """Bring back the work as it was after a round, as a new commit: what came later stays in the history.

    \b
    Examples:
      endstop session restore last 1

    With --json: an object with run, round and commit.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.session_work import restored

        return await restored(app, output, run, round_)

    with_app(work, is_json=is_json)
