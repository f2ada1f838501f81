"""``endstop serve``: the page and the API, on this machine unless you say otherwise (J1, I6)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.errors import UsageError
from endstop.cli.options import Json
from endstop.cli.running import run_async

if TYPE_CHECKING:
    import socket

    from endstop.cli.output import Output
    from endstop.server.access import Access
    from endstop.server.serving import Door


_CUT = 130
"""Ended by a second Ctrl-C: 128 + SIGINT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to serve, and what to say of it."""

    project: Path | None
    repositories: tuple[Path, ...]
    model: str | None
    database: str | None
    hands_out: bool
    opens_browser: bool
    prints_token: bool
    is_json: bool


def serve(
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="At which port; 0 for any.")] = 8_765,
    is_opened: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    token: Annotated[
        bool, typer.Option("--token", help="Print a token for programs, too: good while it runs.")
    ] = False,
    project: Annotated[
        Path | None,
        typer.Option("--project", metavar="FOLDER", help="What is asked about. This folder, if left out."),
    ] = None,
    repo: Annotated[
        list[Path] | None,
        typer.Option("--repo", metavar="FOLDER", help="What others may have code written in, once or more."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="The model, if nobody names another.")
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", metavar="NAME", help="A name it is called by, once or more."),
    ] = None,
    https_proxy: Annotated[
        bool, typer.Option("--https-proxy", help="A proxy in front of it speaks HTTPS.")
    ] = False,
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="Where runs are kept.")
    ] = None,
    hand_out: Annotated[
        bool, typer.Option("--hand-out", help="Hand runs to workers (endstop worker); drive none here.")
    ] = False,
    is_json: Json = False,
) -> None:
    """Serve the page and the API, to you and nobody else: on this machine, by a link that works once.

    Runs that were left open go on. Ctrl-C lets the turns under way finish and leaves their runs to be
    resumed; a second Ctrl-C ends it at once, and even then nothing recorded is lost.

    \b
    Examples:
      endstop serve --open
      endstop serve --project ~/shop --model anthropic:claude-sonnet-4-5
      endstop serve --repo ~/shop --repo ~/site
      endstop serve --token             then, elsewhere:
      curl -N -H "Authorization: Bearer es_…" http://127.0.0.1:8765/api/runs

    With PostgreSQL, any number of workers can drive the runs, on other machines too:

    \b
      endstop serve --database postgresql://endstop@db/endstop --hand-out
      endstop worker --database postgresql://endstop@db/endstop      as often as you like

    To let others in, make users and tokens first (endstop users, endstop tokens); without a token that is
    good, a server that others can reach does not start. Put a proxy that speaks HTTPS in front of it:

    \b
      endstop serve --host 0.0.0.0 --allowed-host endstop.example.org --https-proxy

    With --json: one line when it is ready, an object with address, link, token and user; null where there
    is none. What happens is logged to stderr, one line each.
    """
    from endstop.server.pace import new_loop
    from endstop.server.serving import Door, require_door

    door = Door(host=host, port=port, allowed_hosts=tuple(allowed_host or ()), is_https=https_proxy)
    require_door(door)
    if token and not door.is_private:
        raise UsageError(
            "--token is for a server that only this machine can reach",
            to_do="Make a token that is kept: endstop tokens create",
        )
    wanted = Wanted(
        project=project,
        repositories=tuple(repo or ()),
        model=model,
        database=database,
        hands_out=hand_out,
        opens_browser=is_opened,
        prints_token=token,
        is_json=is_json,
    )
    raise typer.Exit(run_async(_served(door, wanted), new_loop=new_loop))


async def _served(door: Door, wanted: Wanted) -> int:
    from dataclasses import replace

    from endstop.app import open_app, read_config
    from endstop.app.oracle import require_project
    from endstop.cli.output import Output
    from endstop.server.coding_repositories import require_served
    from endstop.server.logs import log_to
    from endstop.server.server import make_server
    from endstop.server.serving import access_for, listen, require_tokens
    from endstop.server.serving import serve as serve_at

    project = require_project(wanted.project or ".")
    repositories = [require_served(folder) for folder in wanted.repositories]
    config = read_config()
    config = replace(
        config, model=wanted.model or config.model, database_url=wanted.database or config.database_url
    )
    async with open_app(config, hands_out=wanted.hands_out) as app:
        await require_tokens(app.store, door)  # before anybody can even knock
        with listen(door) as listening:
            access = await access_for(app, door, _port(listening))
            # On their own machine, people can read any folder anyway. Others get to see this one.
            only = () if door.is_private else (project,)
            asgi = make_server(
                app, access, project=str(project), allowed_projects=only, repositories=repositories
            )
            output = Output(is_json=wanted.is_json)
            log_to()

            async def stop(seconds: float) -> None:
                access.is_closing = True
                await app.runner.shutdown(seconds=seconds)
                asgi.state.context.hub.close()

            is_in_peace = await serve_at(
                asgi,
                listening,
                on_stop=stop,
                on_ready=lambda: _tell(output, door, access, listening, wanted),
                on_stopping=lambda: output.say("Ending after the turns under way. Ctrl-C again: at once."),
            )
    return 0 if is_in_peace else _CUT


def _tell(output: Output, door: Door, access: Access, listening: socket.socket, wanted: Wanted) -> None:
    """Say where it is, and how to come in."""
    port = _port(listening)
    shown = f"[{door.host}]" if ":" in door.host.strip("[]") else door.host
    address = f"http://{shown}:{port}"
    link = access.one_time_link(port, host=door.host.strip("[]")) if access.owner is not None else None
    secret = access.program_token() if wanted.prints_token else None
    if output.is_json:
        output.json_line({"address": address, "link": link, "token": secret, "user": access.owner})
    else:
        if port != door.port and door.port != 0:
            output.say(f"Port {door.port} is taken: this one listens at {port}.")
        if link is None:
            output.say(f"Endstop listens at {address}, for whoever has a token.")
        else:
            output.say("Endstop runs. This link lets you in; it works once, within an hour:")
            _say_whole(output, link)
        if secret is not None:
            output.say("For programs, while it runs: Authorization: Bearer and this token:")
            output.say(secret)
        output.say("End it with Ctrl-C.")
    if wanted.opens_browser:
        _open(link or address)


def _say_whole(output: Output, link: str) -> None:
    """On one line, however narrow the terminal: a link that was folded cannot be followed."""
    if output.is_terminal:
        output.console.out(link, highlight=False)
    else:
        output.say(link)


def _open(link: str) -> None:
    """In a thread: some browsers keep whoever opens them waiting."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _port(listening: socket.socket) -> int:
    return int(listening.getsockname()[1])
