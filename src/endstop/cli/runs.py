"""``endstop runs``: every run, newest first, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.options import Json
from endstop.cli.output import Column, Output
from endstop.cli.running import with_app
from endstop.cli.standing import Standing, next_step, run_json, standing
from endstop.cli.texts import cost, local_time, one_line

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.ports import StoredRun

_COLUMNS = (
    Column(name="run"),
    Column(name="started"),
    Column(name="agent", may_shrink=True),
    Column(name="question", may_shrink=True),
    Column(name="state", may_shrink=True),
    Column(name="turns", is_number=True),
    Column(name="tokens", is_number=True),
    Column(name="cost", is_number=True),
    Column(name="how it ended", may_shrink=True),
)


def runs(
    all_: Annotated[bool, typer.Option("--all", help="All there are, however many.")] = False,
    is_open: Annotated[bool, typer.Option("--open", help="Only those that have not ended.")] = False,
    reviews: Annotated[bool, typer.Option("--reviews", help="Only those that wait for a review.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")] = 20,
    is_json: Json = False,
) -> None:
    """List runs, newest first: what they were asked, what they used, how they ended.

    \b
    Examples:
      endstop runs
      endstop runs --open
      endstop runs --all --json

    With --json: a list of objects with run, state, agent, model, question, user, project, turns, tokens,
    cost_usd (text, or null when unknown), started_at, changed_at, ended_at, ending, exit_code and next.
    """

    async def work(app: App, output: Output) -> int:
        return await _list(app, output, is_open=is_open, reviews=reviews, limit=None if all_ else limit)

    with_app(work, is_json=is_json)


async def _list(app: App, output: Output, *, is_open: bool, reviews: bool, limit: int | None) -> int:
    from endstop.cli.naming import all_runs
    from endstop.kernel.review import RunPhase

    phases = (RunPhase.RUNNING, RunPhase.AWAIT_USER, RunPhase.BUDGET_REVIEW) if is_open else ()
    phases = (RunPhase.BUDGET_REVIEW,) if reviews else phases
    if limit is None:
        found = await all_runs(app.store, phases=phases)
    else:
        found = await app.store.runs(phases=phases, most=limit + 1)
    shown = found[:limit]
    left_open = {run.run_id for run in await app.runner.left_open()}
    stands = [(run, standing(run, left_open)) for run in shown]
    if output.is_json:
        output.document([run_json(run, state) for run, state in stands])
        return 0
    if not stands:
        output.say(_nothing(is_filtered=is_open or reviews))
        return 0
    output.table(_COLUMNS, [_row(run, state, is_terminal=output.is_terminal) for run, state in stands])
    for run, state in stands if output.is_terminal else ():
        if state not in (Standing.ENDED, Standing.RUNNING):  # on a terminal, the table may have cut it off
            output.say(f"{run.run_id} {state.value}: {next_step(run.run_id, state)}", style="yellow")
    if len(found) > len(shown):
        output.say(f"There are more than these {len(shown)}: endstop runs --all, or --limit N.")
    return 0


def _nothing(*, is_filtered: bool) -> str:
    return "No such run." if is_filtered else "No run yet. Start some with: endstop demo"


def _row(run: StoredRun, stands: Standing, *, is_terminal: bool) -> tuple[str, ...]:
    started = local_time(run.started_at)
    return (
        run.run_id,
        started[5:16] if is_terminal else started,
        run.agent,
        one_line(run.question, 40),
        stands.value,
        f"{run.turns:,}",
        f"{run.tokens:,}",
        cost(run.cost_usd),
        _how_it_ended(run, stands),
    )


def _how_it_ended(run: StoredRun, stands: Standing) -> str:
    if stands is Standing.ENDED:
        return one_line(run.ending or "", 60)
    if stands is Standing.RUNNING:
        return ""
    return f"{stands.value}: {next_step(run.run_id, stands)}"
