"""``endstop explain``: why a run stopped, with the evidence, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endstop.cli.options import Json, RunName
from endstop.cli.output import Output
from endstop.cli.running import with_app
from endstop.cli.standing import Standing, next_step, standing

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.events.explain import Explanation
    from endstop.ports import StoredRun

_STEP = "Next: "
"""What each step of an advice begins with."""


def explain(run: RunName, is_json: Json = False) -> None:
    """Tell why a run stopped: the rule, the evidence, what it used, what was kept, what to do next.

    \b
    Examples:
      endstop explain last
      endstop explain run_3f9c --json

    With --json: an object with run, state, headline, why, evidence, spent, kept, to_do and next (commands).
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.naming import find_run
        from endstop.events.explain import explain as explain_record

        stored = await find_run(app.store, run)
        told = explain_record(await app.store.record(stored.run_id))
        stands = standing(stored, {one.run_id for one in await app.runner.left_open()})
        commands = _next(stored, stands)
        if output.is_json:
            output.document(_document(stored, stands, told, commands))
        else:
            _tell(output, stands, told, commands)
        return 0

    with_app(work, is_json=is_json)


def _next(stored: StoredRun, stands: Standing) -> list[str]:
    from endstop.app.gallery import DEMO
    from endstop.coding import CODING

    run_id = stored.run_id
    match stands:
        case Standing.ENDED:
            again = f"endstop demo {stored.agent.removeprefix(DEMO)}" if stored.agent.startswith(DEMO) else ""
            session = f"endstop session show {run_id}" if stored.agent == CODING else ""
            commands = (session, f"endstop show {run_id}", f"endstop audit {run_id}", again)
            return [command for command in commands if command]
        case Standing.WAITS_FOR_REVIEW:
            approve = f"endstop review {run_id} approve --turns 10 --resume"
            return [next_step(run_id, stands), approve, f"endstop cancel {run_id}"]
        case _:
            return [next_step(run_id, stands), f"endstop cancel {run_id}"]


def _document(
    stored: StoredRun, stands: Standing, told: Explanation, commands: list[str]
) -> dict[str, object]:
    return {
        "run": stored.run_id,
        "state": stands.value,
        "headline": told.headline,
        "why": told.why,
        "evidence": list(told.evidence),
        "spent": list(told.spent),
        "kept": told.kept.removeprefix("Kept: "),
        "to_do": told.to_do.removeprefix("What to do: "),
        "next": commands,
    }


def _tell(output: Output, stands: Standing, told: Explanation, commands: list[str]) -> None:
    output.say(told.headline, style="bold")
    if stands is Standing.LEFT_OPEN:
        output.say("The process that worked on it is gone; everything up to then is saved.")
    else:
        output.say(told.why)
    for title, lines in (("Evidence", told.evidence), ("Used", told.spent)):
        if lines:
            output.say(f"{title}:")
            for line in lines:
                output.say(f"  {line}")
    if told.kept:
        output.say(told.kept)
    _tell_to_do(output, told.to_do)
    output.say("Next:")
    for command in commands:
        output.say(f"  {command}", style="cyan")


def _tell_to_do(output: Output, to_do: str) -> None:
    """Print the advice; where it comes with steps, each on a line of its own."""
    advice, *steps = to_do.split(f"\n{_STEP}")
    if not steps:
        if to_do:
            output.say(to_do)
        return
    output.say("What to do:")
    for line in (advice.removeprefix(_STEP), *steps):
        output.say(f"  {line}")
