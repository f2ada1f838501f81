"""``endstop users``: who may have tokens for a server that others can reach."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from endstop.cli.options import Json
from endstop.cli.output import Column, Output
from endstop.cli.running import with_app
from endstop.cli.texts import count, iso, local_time

if TYPE_CHECKING:
    from endstop.app import App

UserName: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a user.", show_default=False)
]

_COLUMNS = (
    Column(name="user", may_shrink=True),
    Column(name="added"),
    Column(name="good tokens", is_number=True),
    Column(name="last used"),
)

users = typer.Typer(name="users", no_args_is_help=True, rich_markup_mode=None)


@users.callback()
def user_commands() -> None:
    """Who may have tokens, and with them use a server that others can reach.

    Each user sees only their own runs, conversations, reviews and settings. On your own machine you need
    none of this: endstop serve lets you in by a link.

    \b
    Examples:
      endstop users add ana
      endstop tokens create --user ana
      endstop users list
    """


@users.command(short_help="Add a user.")
def add(name: UserName, is_json: Json = False) -> None:
    """Add a user. To let them in, make a token for them.

    \b
    Examples:
      endstop users add ana
      endstop users add ana@example.org

    With --json: an object with user and is_new. Adding one that is there changes nothing.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.ports import StoredUser
        from endstop.server.tokens import user_name

        is_new = await app.store.add_user(StoredUser(name=user_name(name), added_at=time.time()))
        if output.is_json:
            output.document({"user": name, "is_new": is_new})
            return 0
        output.say(f"Added {name}." if is_new else f"{name} is a user already.")
        output.say(f"Let them in with: endstop tokens create --user {name}")
        return 0

    with_app(work, is_json=is_json)


@users.command("list", short_help="List the users there are.")
def list_users(is_json: Json = False) -> None:
    """List the users there are, and how many of their tokens are good.

    \b
    Examples:
      endstop users list

    With --json: a list of objects with user, added_at, good_tokens and used_at (null if never).
    """

    async def work(app: App, output: Output) -> int:
        await _list(app, output)
        return 0

    with_app(work, is_json=is_json)


@users.command(short_help="Remove a user and all their tokens.")
def remove(name: UserName, is_json: Json = False) -> None:
    """Remove a user, with all their tokens: they are signed out everywhere. Their runs are kept.

    \b
    Examples:
      endstop users remove ana

    With --json: an object with user and tokens, how many were removed with them.
    """

    async def work(app: App, output: Output) -> int:
        tokens = len(await app.store.tokens(user=name))
        await app.store.remove_user(name)
        if output.is_json:
            output.document({"user": name, "tokens": tokens})
        else:
            output.say(f"Removed {name}, with {count(tokens, 'token')}.")
        return 0

    with_app(work, is_json=is_json)


async def _list(app: App, output: Output) -> None:
    from endstop.server.tokens import is_good

    now = time.time()
    rows: list[dict[str, object]] = []
    cells: list[tuple[str, ...]] = []
    for user in await app.store.users():
        tokens = await app.store.tokens(user=user.name)
        good = sum(is_good(token, now=now) for token in tokens)
        used_at = max((token.used_at for token in tokens if token.used_at is not None), default=None)
        rows.append(
            {
                "user": user.name,
                "added_at": iso(user.added_at),
                "good_tokens": good,
                "used_at": iso(used_at),
            }
        )
        last = "never" if used_at is None else local_time(used_at)
        cells.append((user.name, local_time(user.added_at), str(good), last))
    if output.is_json:
        output.document(rows)
    elif cells:
        output.table(_COLUMNS, cells)
    else:
        output.say("No users yet. Add one with: endstop users add NAME")
