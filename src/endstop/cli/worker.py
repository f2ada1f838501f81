"""``endstop worker``: drives runs that servers hand out, on as many machines as there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.errors import UsageError
from endstop.cli.options import Json
from endstop.cli.running import run_async

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from endstop.app.config import Config

_MOST_AT_ONCE = 1_000
_BUILT_IN = "endstop:extractive"


def worker(
    database: Annotated[
        str | None,
        typer.Option("--database", metavar="URL", help="The PostgreSQL database that servers hand out on."),
    ] = None,
    concurrency: Annotated[
        int,
        typer.Option("--concurrency", metavar="N", help="So many at once.", min=1, max=_MOST_AT_ONCE),
    ] = 8,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agents", metavar="NAME", help="Only runs of such agents, once or more."),
    ] = None,
    per_user: Annotated[
        int | None,
        typer.Option("--per-user", metavar="N", help="So many runs of a user at once.", min=1),
    ] = None,
    per_model: Annotated[
        int | None,
        typer.Option("--per-model", metavar="N", help="So many runs of a model at once.", min=1),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option("--rate", metavar="MODEL=N", help="So many calls of a model a minute, once or more."),
    ] = None,
    drain: Annotated[
        float,
        typer.Option("--drain", metavar="SECONDS", help="How long turns may take at the end.", min=0),
    ] = 60.0,
    is_json: Json = False,
) -> None:
    """Drive the runs that servers hand out (endstop serve --hand-out), until it is told to end.

    Start as many as you like, on as many machines as you like; all they share is the database. SIGTERM or
    Ctrl-C: it takes no more runs, finishes the turns under way, and hands the runs back. If it dies, others
    go on with its runs after some seconds, and nothing that was recorded is lost.

    Limits per user and per model, and rates, hold for all workers together; give the same to each. A call
    that is early waits for its moment, inside the time limit of its run.

    \b
    Examples:
      endstop worker --database postgresql://endstop@db/endstop
      endstop worker --concurrency 32 --agents oracle --per-user 4
      endstop worker --rate anthropic:claude-sonnet-5=50 --rate openai:gpt-5=500

    With --json: one line when it is ready, an object with database and concurrency.
    """
    from dataclasses import replace

    from endstop.app import read_config

    rates = _rates(rate or ())
    config = read_config()
    if database is not None:
        config = replace(config, database_url=database)
    if not config.database_url.startswith("postgres"):
        raise UsageError(
            "A worker needs the PostgreSQL database that servers hand out on",
            to_do="Give --database postgresql://user@host/name, or set ENDSTOP_DATABASE_URL",
        )
    work = _worked(
        config,
        concurrency=concurrency,
        agents=agents,
        per_user=per_user,
        per_model=per_model,
        rates=rates,
        drain_s=drain,
        is_json=is_json,
    )
    raise typer.Exit(run_async(work))


async def _worked(
    config: Config,
    *,
    concurrency: int,
    agents: list[str] | None,
    per_user: int | None,
    per_model: int | None,
    rates: Mapping[str, float],
    drain_s: float,
    is_json: bool,
) -> int:
    import asyncio
    import signal

    from endstop.app.scale import open_worker
    from endstop.cli.output import Output
    from endstop.server.logs import log_to
    from endstop.store.address import parse_address

    output = Output(is_json=is_json)
    shown = parse_address(config.database_url).shown
    async with open_worker(
        config,
        concurrency=concurrency,
        queues=agents,
        per_user=per_user,
        per_model=per_model,
        rates=rates,
    ) as working:
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def tell() -> None:
            if not told.done():
                told.set_result(None)

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, tell)
        log_to()
        if output.is_json:
            output.json_line({"database": shown, "concurrency": concurrency})
        else:
            output.say(f"Working on {shown}, {concurrency} runs at once. End it with Ctrl-C.")
        work = asyncio.create_task(working.run())
        await asyncio.wait((work, told), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            output.say("Ending after the turns under way. Their runs are handed back.")
            await working.drain(seconds=drain_s)
        await work
    return 0


def _rates(given: Iterable[str]) -> dict[str, float]:
    """Calls per minute by model, from what was written as MODEL=N."""
    rates: dict[str, float] = {}
    for text in given:
        model, _, number = text.rpartition("=")
        name = _BUILT_IN if model == "extractive" else model
        try:
            rates[name] = float(number)
        except ValueError:
            name = ""
        if ":" not in name.strip(":"):
            raise UsageError(
                f"--rate {text!r} says no rate of a model",
                to_do="Write provider:model=calls per minute, such as anthropic:claude-sonnet-5=50",
            )
    return rates
