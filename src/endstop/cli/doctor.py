"""``endstop doctor``: what is configured, what is missing, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from endstop.cli.options import Json
from endstop.cli.output import Output
from endstop.cli.running import run_async

if TYPE_CHECKING:
    from collections.abc import Sequence

    from endstop.cli.checked import Checked

_STYLES = {"ok": "green", "note": "", "attention": "yellow", "broken": "bold red"}


def doctor(is_json: Json = False) -> None:
    """Say what is configured, what is missing and what to do about it. Changes nothing; shows no key.

    \b
    Examples:
      endstop doctor
      endstop doctor --json
      ENDSTOP_MODEL=anthropic:claude-sonnet-5 endstop doctor

    On a PostgreSQL database where runs are handed to workers: which workers are alive, who waits, and how
    long.

    Exit code 0 if Endstop can be used as it is configured, 1 if something is broken.

    With --json: an object with is_usable and checks (name, state, detail, to_do); state is ok, note,
    attention or broken.
    """
    from endstop.cli.checkup import check_up

    output = Output(is_json=is_json)
    found: list[Checked] = []

    async def looked() -> int:
        found.extend(await check_up())
        return 1 if any(one.state == "broken" for one in found) else 0

    code = run_async(looked())
    _tell(output, found, is_usable=code == 0)
    raise typer.Exit(code)


def _tell(output: Output, found: Sequence[Checked], *, is_usable: bool) -> None:
    if output.is_json:
        checks = [
            {"name": one.name, "state": one.state, "detail": one.detail, "to_do": one.to_do} for one in found
        ]
        output.document({"is_usable": is_usable, "checks": checks})
        return
    width = max(len(one.name) for one in found)
    for one in found:
        state = {"note": "-", "attention": "!"}.get(one.state, one.state)
        output.say(f"{state:>6}  {one.name.ljust(width)}  {one.detail}", style=_STYLES[one.state])
        if one.to_do:
            output.say(f"{'':>6}  {'':{width}}  {one.to_do}")
    output.say()
    output.say("Endstop can be used." if is_usable else "Something is broken: see above.", style="bold")
