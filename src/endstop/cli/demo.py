"""``endstop demo``: the gallery of agents that try to run for ever, and how each of them ends."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.options import Json, amount
from endstop.cli.output import Column, Output
from endstop.cli.running import with_app

if TYPE_CHECKING:
    from collections.abc import Sequence

    from endstop.app import App
    from endstop.events.audit import Audit
    from endstop.runner import Run

_LINES_EACH = 4
_BUDGET_CHECKS = frozenset({"spending never passed limit plus grants", "it ended within its time"})
_COLUMNS = (
    Column(name="adversary", may_shrink=True),
    Column(name="ended by", may_shrink=True),
    Column(name="turns", is_number=True),
    Column(name="tokens", is_number=True),
    Column(name="cost", is_number=True),
    Column(name="time", is_number=True),
    Column(name="audit"),
    Column(name="kept"),
    Column(name="run"),
)
_DRAWN_COLUMNS = 7
"""On a terminal the last two stand above, with each run, and would leave too little room for the others."""


def demo(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Which adversaries; all if none.", show_default=False),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Say which there are, and run none.")] = False,
    seconds: Annotated[float | None, amount("--seconds", "Time limit of each; 3 if not given.")] = None,
    is_json: Json = False,
) -> None:
    """Run agents that try to run for ever, and watch each being stopped inside its budget.

    Each is an adversary (a model or a tool that misbehaves in its own way) under a small budget. The runs
    are kept: explain, show and audit work on them. The whole gallery takes about half a minute. Nothing
    leaves this machine, and nothing is paid: prices are made up.

    \b
    Examples:
      endstop demo
      endstop demo repeats_call hangs_mid_stream
      endstop demo --list

    Ctrl-C cuts the turn, saves it and leaves the run open: endstop resume goes on. Killed in any other
    way, too. Exit code 0 only if every run ended inside its budget and its audit holds; 130 on Ctrl-C.

    With --json: lines with event (started, turn, notice, ended, result) and run; with --list, a list of
    objects with name and does.
    """
    if list_:
        _list(Output(is_json=is_json))
        return

    async def work(app: App, output: Output) -> int:
        return await _gallery(app, output, names or [], seconds)

    with_app(work, is_json=is_json)


def _list(output: Output) -> None:
    from endstop.testing import ADVERSARIES

    if output.is_json:
        output.document([{"name": one.name, "does": one.does} for one in ADVERSARIES.values()])
        return
    columns = (Column(name="adversary"), Column(name="what it does", may_shrink=True))
    output.table(columns, [(one.name, one.does) for one in ADVERSARIES.values()])


async def _gallery(app: App, output: Output, names: Sequence[str], seconds: float | None) -> int:
    from endstop.app.gallery import demo_agent
    from endstop.testing import ADVERSARIES

    chosen = list(dict.fromkeys(names)) or list(ADVERSARIES)
    for name in chosen:
        demo_agent(name)  # a name that is not there is said before anything runs
    results: list[tuple[str, Run, Audit]] = []
    for number, name in enumerate(chosen, start=1):
        place = f"[{number}/{len(chosen)}] {name}"
        run = await _shown(app, output, name, place, seconds)
        checked = run.audit()
        results.append((name, run, checked))
        _tell(output, name, run, checked)
    return _tell_all(output, results)


async def _shown(app: App, output: Output, name: str, place: str, seconds: float | None) -> Run:
    from endstop.app.gallery import demo_agent
    from endstop.cli.live import Title, watched
    from endstop.cli.progress import Progress
    from endstop.testing import ADVERSARIES

    agent = demo_agent(name)
    if seconds is not None:
        budget = replace(agent.config.budget, seconds=seconds)
        agent = replace(agent, config=replace(agent.config, budget=budget))
    does = ADVERSARIES[name].does
    run_id = f"run_{os.urandom(6).hex()}"
    if output.is_json:
        output.json_line({"event": "started", "run": run_id, "adversary": name, "does": does})
    progress = Progress(run_id=run_id, budget=agent.config.budget)
    try:
        return await watched(
            output,
            Title(name=place, does=does),
            progress,
            lambda bus, listener: app.runner.run(
                agent, does, run_id=run_id, user=app.config.user, bus=bus, listener=listener
            ),
            most_lines=_LINES_EACH,
        )
    except asyncio.CancelledError:
        from endstop.cli.resume import tell_left_open

        await tell_left_open(app, output, run_id)
        raise


def _tell(output: Output, name: str, run: Run, checked: Audit) -> None:
    from endstop.cli.ending import ending_json, tell_ending
    from endstop.testing import ADVERSARIES

    if output.is_json:
        output.json_line({"event": "ended", "adversary": name, **ending_json(run, checked)})
        return
    if output.is_terminal:
        output.say(f"{name}  {ADVERSARIES[name].does}", style="bold")
    tell_ending(output, run, checked)
    output.say()


def _tell_all(output: Output, results: Sequence[tuple[str, Run, Audit]]) -> int:
    ended = [name for name, run, _ in results if run.outcome is not None]
    over = [name for name, _, checked in results if not _is_inside_budget(checked)]
    broken = [name for name, _, checked in results if not checked.holds]
    holds = len(ended) == len(results) and not over and not broken
    if output.is_json:
        told = {"runs": len(results), "ended": len(ended), "over_budget": over, "audit_broken": broken}
        output.json_line({"event": "result", **told, "holds": holds})
    else:
        shown = _DRAWN_COLUMNS if output.is_terminal else len(_COLUMNS)
        output.table(_COLUMNS[:shown], [_row(*result)[:shown] for result in results])
        output.say()
        output.say(
            verdict(len(ended), len(results), over, broken), style="bold green" if holds else "bold red"
        )
        output.say(f"Why did it stop? endstop explain {results[-1][1].id}")
    return 0 if holds else 1


def verdict(ended: int, total: int, over: Sequence[str], broken: Sequence[str]) -> str:
    """What the whole gallery came to, in a line."""
    if ended == total and not over and not broken:
        return f"every run ended: {ended} of {total}, inside its budget, audits hold"
    parts = [f"runs that ended: {ended} of {total}"]
    parts += [f"past their budget: {', '.join(over)}"] if over else []
    parts += [f"audit broken: {', '.join(broken)}"] if broken else []
    return "; ".join(parts)


def _is_inside_budget(checked: Audit) -> bool:
    return {check.name for check in checked.checks if check.holds} >= _BUDGET_CHECKS


def _row(name: str, run: Run, checked: Audit) -> tuple[str, ...]:
    from endstop.cli.ending import kept_chars, rule_shown

    usage = run.usage
    return (
        name,
        rule_shown(run),
        f"{usage.turns:,}",
        f"{usage.tokens:,}",
        usage.cost_shown,
        f"{usage.seconds:.2f} s",
        "holds" if checked.holds else "BROKEN",
        f"{kept_chars(run):,} characters" if kept_chars(run) else "record",
        run.id,
    )
