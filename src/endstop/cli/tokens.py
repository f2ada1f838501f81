"""``endstop tokens``: what programs, and people elsewhere, come in to a server with."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from endstop.cli.options import Json
from endstop.cli.output import Column, Output
from endstop.cli.running import with_app
from endstop.cli.texts import iso, local_time

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.ports import StoredToken

Whose: TypeAlias = Annotated[
    str | None,
    typer.Option("--user", metavar="NAME", help="Whose. You, if it is left out.", show_default=False),
]

_COLUMNS = (
    Column(name="token"),
    Column(name="user", may_shrink=True),
    Column(name="name", may_shrink=True),
    Column(name="state"),
    Column(name="good until"),
    Column(name="last used"),
)

tokens = typer.Typer(name="tokens", no_args_is_help=True, rich_markup_mode=None)


@tokens.callback()
def token_commands() -> None:
    """Tokens, with which programs and people elsewhere use a server.

    A token is shown once, when it is made: what is kept is only a hash of it. It is good for some days, or
    until it is revoked. Whoever has it can do all that its user can.

    \b
    Examples:
      endstop tokens create --name laptop
      endstop tokens create --user ana --days 7
      endstop tokens list
      endstop tokens revoke token_3f9c01d2ab47
      curl -N -H "Authorization: Bearer es_…" http://127.0.0.1:8765/api/runs
    """


@tokens.command(short_help="Make a token, and show it this once.")
def create(
    user: Whose = None,
    name: Annotated[str, typer.Option("--name", help="What it is for, in your words.")] = "",
    days: Annotated[int, typer.Option("--days", metavar="N", help="How long it is good.")] = 90,
    is_json: Json = False,
) -> None:
    """Make a token, and show it this once. Keep it as you would a password.

    \b
    Examples:
      endstop tokens create --name laptop
      endstop tokens create --user ana --name "nightly job" --days 365

    With --json: an object with token (the secret), id, user, name and expires_at.
    """

    async def work(app: App, output: Output) -> int:
        await _create(app, output, user=user, name=name, days=days)
        return 0

    with_app(work, is_json=is_json)


@tokens.command("list", short_help="List tokens, never their secrets.")
def list_tokens(user: Whose = None, is_json: Json = False) -> None:
    """List tokens, newest first: whose, what for, whether they are good. Their secrets cannot be shown.

    \b
    Examples:
      endstop tokens list               all of them
      endstop tokens list --user ana

    With --json: a list of objects with id, user, name, state (good, revoked, expired), created_at,
    expires_at, revoked_at and used_at (give or take ten minutes; null if never).
    """

    async def work(app: App, output: Output) -> int:
        found = await app.store.tokens(user=user)
        if output.is_json:
            output.document([_json(token) for token in found])
        elif found:
            output.table(_COLUMNS, [_row(token) for token in found])
        else:
            output.say("No tokens. Make one with: endstop tokens create")
        return 0

    with_app(work, is_json=is_json)


@tokens.command(short_help="End a token at once.")
def revoke(
    token: Annotated[
        str,
        typer.Argument(metavar="TOKEN", help="Its id, as endstop tokens list shows it.", show_default=False),
    ],
    is_json: Json = False,
) -> None:
    """End a token, and whoever is signed in with it. A server that runs takes it no more after a second.

    \b
    Examples:
      endstop tokens revoke token_3f9c01d2ab47

    With --json: an object as in endstop tokens list.
    """

    async def work(app: App, output: Output) -> int:
        revoked = await app.store.revoke_token(token, at=time.time())
        if output.is_json:
            output.document(_json(revoked))
        else:
            output.say(f"Revoked {revoked.id} of {revoked.user}.")
        return 0

    with_app(work, is_json=is_json)


async def _create(app: App, output: Output, *, user: str | None, name: str, days: int) -> None:
    from endstop.ports import StoredUser
    from endstop.server.tokens import new_token

    now = time.time()
    made = new_token(app.config.user if user is None else user, name=name, days=days, now=now)
    if user is None:  # nobody needs to add themselves first
        await app.store.add_user(StoredUser(name=made.stored.user, added_at=now))
    await app.store.add_token(made.stored)
    stored = made.stored
    if output.is_json:
        output.document(
            {
                "token": made.secret,
                "id": stored.id,
                "user": stored.user,
                "name": stored.name,
                "expires_at": iso(stored.expires_at),
            }
        )
        return
    output.say(f"Token {stored.id} of {stored.user}, good until {local_time(stored.expires_at)}:")
    output.say(made.secret)
    output.say("It is shown this once. Programs send it as Authorization: Bearer and the token.")


def _state(token: StoredToken) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "good" if time.time() < token.expires_at else "expired"


def _json(token: StoredToken) -> dict[str, object]:
    return {
        "id": token.id,
        "user": token.user,
        "name": token.name,
        "state": _state(token),
        "created_at": iso(token.created_at),
        "expires_at": iso(token.expires_at),
        "revoked_at": iso(token.revoked_at),
        "used_at": iso(token.used_at),
    }


def _row(token: StoredToken) -> tuple[str, ...]:
    last = "never" if token.used_at is None else local_time(token.used_at)
    return (token.id, token.user, token.name, _state(token), local_time(token.expires_at), last)
