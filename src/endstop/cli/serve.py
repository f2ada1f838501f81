"""``endstop serve``: the page and the API, on this machine unless you say otherwise (J1, I6)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.options import Json
from endstop.cli.running import run_async

if TYPE_CHECKING:
    import socket

    from endstop.app import App
    from endstop.cli.output import Output
    from endstop.server.access import Access
    from endstop.server.serving import Door


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
    is_json: Json = False,
) -> None:
    """Serve the page and the API, to you and nobody else: on this machine, by a link that works once.

    Runs that were left open go on. Ctrl-C lets the turns under way finish and leaves their runs to be
    resumed; a second Ctrl-C ends it at once, and even then nothing recorded is lost.

    \b
    Examples:
      endstop serve --open
      endstop serve --project ~/shop --model anthropic:claude-sonnet-4-5
      endstop serve --token             then, elsewhere:
      curl -N -H "Authorization: Bearer es_…" http://127.0.0.1:8765/api/runs

    To let others in, make users and tokens first (endstop users, endstop tokens); without a token that is
    good, a server that others can reach does not start. Put a proxy that speaks HTTPS in front of it:

    \b
      endstop serve --host 0.0.0.0 --allowed-host endstop.example.org --https-proxy

    With --json: one line when it is ready, an object with address, link, token and user; null where there
    is none. What happens is logged to stderr, one line each.
    """
    from endstop.server.serving import Door, require_door

    door = Door(
        host=host, port=port, allowed_hosts=tuple(allowed_host or ()), is_https=https_proxy
    )
    require_door(door)
    raise typer.Exit(
        run_async(
            _served(door, project=project, model=model, is_opened=is_opened, token=token, is_json=is_json)
        )
    )


async def _served(
    door: Door, *, project: Path | None, model: str | None, is_opened: bool, token: bool, is_json: bool
) -> int:
    from dataclasses import replace

    from endstop.app import open_app, read_config
    from endstop.cli.output import Output
    from endstop.server.logs import log_to
    from endstop.server.serving import access_for, listen
    from endstop.server.serving import serve as serve_at

    config = read_config()
    async with open_app(config if model is None else replace(config, model=model)) as app:
        log_to()
        listening = listen(door)
        with listening:
            access = await access_for(app, door, _port(listening))
            output = Output(is_json=is_json)
            asgi = _made(app, access, project)

            async def stop(seconds: float) -> None:
                await app.runner.shutdown(seconds=seconds)
                asgi.state.context.hub.close()

            is_in_peace = await serve_at(
                asgi,
                listening,
                on_stop=stop,
                on_ready=lambda: _tell(output, door, access, listening, opens=is_opened, token=token),
                on_stopping=lambda: output.say("Ending after the turns under way. Ctrl-C again: at once."),
            )
    return 0 if is_in_peace else 130


def _made(app: App, access: Access, project: Path | None):
    raise NotImplementedError


def _tell(
    output: Output, door: Door, access: Access, listening: socket.socket, *, opens: bool, token: bool
) -> None:
    """Say where it is, and how to come in."""
    port = _port(listening)
    shown = f"[{door.host}]" if ":" in door.host.strip("[]") else door.host
    address = f"http://{shown}:{port}"
    link = access.one_time_link(port, host=door.host.strip("[]")) if access.owner is not None else None
    secret = access.program_token() if token and access.owner is not None else None
    if output.is_json:
        output.json_line({"address": address, "link": link, "token": secret, "user": access.owner})
    else:
        if port != door.port and door.port != 0:
            output.say(f"Port {door.port} is taken: this one listens at {port}.")
        if link is None:
            output.say(f"Endstop listens at {address}, for whoever has a token.")
        else:
            output.say("Endstop runs. This link lets you in; it works once, within an hour:")
            output.say(link)
        if secret is not None:
            output.say("For programs, while it runs: Authorization: Bearer and this token:")
            output.say(secret)
        output.say("End it with Ctrl-C.")
    if opens:
        _open(link or address)


def _open(link: str) -> None:
    """In a thread: some browsers keep whoever opens them waiting."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _port(listening: socket.socket) -> int:
    return int(listening.getsockname()[1])
