"""``endstop cancel``: end a run, also one that another process works on."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.options import Json, RunName
from endstop.cli.output import Output
from endstop.cli.running import with_app

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.ports import StoredRun

_LOOKS_EVERY_S = 0.1
_SAYS_SO_AFTER_S = 1.0


def cancel(
    run: RunName,
    after_turn: Annotated[
        bool, typer.Option("--after-turn", help="Let it finish the turn under way first.")
    ] = False,
    wait_s: Annotated[
        float, typer.Option("--wait", metavar="S", min=0, max=3600, help="How long to wait for its end.")
    ] = 10,
    is_json: Json = False,
) -> None:
    """End a run now, or after its turn. What it gathered is kept.

    Works on runs of other processes: their process is asked, and this waits a while for it.

    \b
    Examples:
      endstop cancel last
      endstop cancel run_3f9c --after-turn

    Exit code 0 when the run has ended, 3 when it was asked and has not ended yet, 2 when it had ended before.

    With --json: an object with run, has_ended and ending.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.naming import find_run
        from endstop.kernel.review import RunPhase

        stored = await find_run(app.store, run)
        is_done = await app.runner.cancel(stored.run_id, by=app.config.user, after_turn=after_turn)
        stored = await (
            app.store.run(stored.run_id) if is_done else _waited_for(app, output, stored.run_id, wait_s)
        )
        return _tell(output, stored, has_ended=stored.phase is RunPhase.ENDED)

    with_app(work, is_json=is_json)


async def _waited_for(app: App, output: Output, run_id: str, wait_s: float) -> StoredRun:
    """Wait until the process that works on a run has ended it, or for as long as one likes to wait."""
    from endstop.kernel.review import RunPhase

    asked_at = time.monotonic()
    has_said_so = False
    while True:
        stored = await app.store.run(run_id)
        waited_s = time.monotonic() - asked_at
        if stored.phase is RunPhase.ENDED or waited_s >= wait_s:
            return stored
        if not has_said_so and waited_s >= _SAYS_SO_AFTER_S:
            has_said_so = True
            output.say(f"Asked the process that works on {run_id}; waiting for it …")
        await asyncio.sleep(_LOOKS_EVERY_S)


def _tell(output: Output, stored: StoredRun, *, has_ended: bool) -> int:
    if output.is_json:
        output.document({"run": stored.run_id, "has_ended": has_ended, "ending": stored.ending})
    elif has_ended:
        output.say(f"{stored.run_id} has ended: {stored.ending}.")
        output.say(f"What it gathered is kept: endstop show {stored.run_id}")
    else:
        output.say(f"{stored.run_id} was asked to end, and has not yet: its turn may take a while.")
        output.say(f"Watch it: endstop show {stored.run_id} --follow")
    return 0 if has_ended else 3
