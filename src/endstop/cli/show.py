"""``endstop show``: one run, whole: what it was asked, what it used, what happened when, its answer."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.options import Json, RunName
from endstop.cli.output import Output
from endstop.cli.running import with_app
from endstop.cli.standing import Standing, next_step, run_json, standing
from endstop.cli.texts import iso, local_time, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from endstop.app import App
    from endstop.events.facts import Fact, SourceCited
    from endstop.events.summary import Summary
    from endstop.events.timeline import Moment
    from endstop.ports import StoredRun

_FIRST_MOMENTS = 15
_LAST_MOMENTS = 35
_MOST_ALIKE = 3
_LOOKS_EVERY_S = 0.3
_QUIET = frozenset({"turn.ended", "run.resumed"})
_STYLES = {"warning": "yellow", "error": "red", "critical": "bold red"}


def show(
    run: RunName,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on showing what it does until it ends.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="Every fact of the record, however many.")] = False,
    is_json: Json = False,
) -> None:
    """Show one run: its budget, its timeline, its answer and what the answer rests on.

    \b
    Examples:
      endstop show last
      endstop show run_3f9c --all
      endstop show last --follow

    With --json: an object with the keys of runs --json and meters, timeline (seq, time, at_s, scope, turn,
    type, severity, title, detail), answer, is_forced and sources (title, location, passage). With --follow:
    one line per moment of the timeline.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.naming import find_run

        stored = await find_run(app.store, run)
        if follow:
            return await _follow(app, output, stored)
        return await _show(app, output, stored, shows_all=all_)

    with_app(work, is_json=is_json)


async def _show(app: App, output: Output, stored: StoredRun, *, shows_all: bool) -> int:
    from endstop.events.summary import summarise
    from endstop.events.timeline import timeline

    facts = await app.store.record(stored.run_id)
    stands = standing(stored, {one.run_id for one in await app.runner.left_open()})
    summary = summarise(facts)
    moments = list(timeline(facts))
    if output.is_json:
        output.document(_document(stored, stands, summary, facts, moments))
        return 0
    _tell_header(output, stored, stands, summary)
    output.say()
    if shows_all:
        for moment in moments:
            _tell_moment(output, moment)
    else:
        _tell_timeline(output, [moment for moment in moments if _is_telling(moment)])
    _tell_answer(output, facts, summary)
    return 0


def _document(
    stored: StoredRun, stands: Standing, summary: Summary, facts: Sequence[Fact], moments: Sequence[Moment]
) -> dict[str, object]:
    from endstop.cli.meters import meters_json
    from endstop.kernel.outcome import Forced

    return {
        **run_json(stored, stands),
        "meters": meters_json(summary.meters),
        "timeline": [_moment_json(moment) for moment in moments],
        "answer": getattr(summary.ending, "answer", None),
        "is_forced": isinstance(summary.ending, Forced),
        "sources": [
            {"title": one.title, "location": one.location, "passage": one.passage} for one in _sources(facts)
        ],
    }


def _tell_header(output: Output, stored: StoredRun, stands: Standing, summary: Summary) -> None:
    from endstop.cli.meters import drawn_meters, meters_line

    output.say(stored.run_id, style="bold")
    next_one = "" if stands is Standing.ENDED else next_step(stored.run_id, stands)
    output.pairs(
        [
            ("question", stored.question),
            ("agent", stored.agent),
            ("model", stored.model),
            ("user", stored.user or ""),
            ("project", stored.project or ""),
            ("started", local_time(stored.started_at)),
            ("state", stands.value),
            ("waits for", summary.waits_for or ""),
            ("ended", stored.ending or ""),
            ("next", next_one),
            ("used", str(summary.usage)),
            ("of budget", "" if output.is_terminal else meters_line(summary.meters, summary.usage)),
        ],
        indent="  ",
    )
    if output.is_terminal and summary.meters:
        output.draw(drawn_meters(summary.meters, output.console.width, summary.usage))


def _tell_timeline(output: Output, moments: Sequence[Moment]) -> None:
    """The timeline as one can read it: what repeats is told in short, and a long one loses its middle."""
    lines: list[Moment | str] = []
    for _, alike in groupby(moments, key=lambda moment: (moment.title, moment.scope)):
        first, *rest = alike
        lines.append(first)
        lines += [f"… and {len(rest):,} more like this …"] if len(rest) > _MOST_ALIKE else rest
    left_out = len(lines) - _FIRST_MOMENTS - _LAST_MOMENTS
    if left_out > 0:
        lines[_FIRST_MOMENTS:-_LAST_MOMENTS] = [f"… {left_out:,} lines left out: --all shows them …"]
    for line in lines:
        if isinstance(line, str):
            output.say(f"{'':12}{line}", style="dim")
        else:
            _tell_moment(output, line)


def _tell_moment(output: Output, moment: Moment) -> None:
    from endstop.kernel.ledger import ROOT

    where = "" if moment.scope == ROOT else f"[{moment.scope}] "
    detail = f": {one_line(moment.detail, 140)}" if moment.detail else ""
    output.say(
        f"{moment.at_s:8.2f} s  {where}{one_line(moment.title, 80)}{detail}",
        style=_STYLES.get(moment.severity.value, ""),
        is_cut=True,
    )


def _tell_answer(output: Output, facts: Sequence[Fact], summary: Summary) -> None:
    from endstop.kernel.outcome import Completed, Forced

    answer = getattr(summary.ending, "answer", "")
    if answer:
        how = ""
        if isinstance(summary.ending, Forced):
            how = f" (forced: {summary.ending.reason.message})"
        elif isinstance(summary.ending, Completed) and summary.ending.warnings:
            how = f" ({' '.join(summary.ending.warnings)})"
        elif not isinstance(summary.ending, Completed):
            how = " (what was there when it ended)"
        output.say()
        output.say(f"Answer{how}", style="bold")
        output.say(answer)
    sources = _sources(facts)
    if sources:
        output.say()
        output.say("Sources", style="bold")
        for one in sources:
            output.say(f"  {one.location}  {one.title}")


async def _follow(app: App, output: Output, stored: StoredRun) -> int:
    """Print each moment as it comes, until the run has ended, is paused or nobody works on it any more."""
    from endstop.events.timeline import timeline

    told = 0
    while True:
        stored = await app.store.run(stored.run_id)
        stands = standing(stored, {one.run_id for one in await app.runner.left_open()})
        if stored.facts > told:
            moments = list(timeline(await app.store.record(stored.run_id)))
            for moment in moments[told:]:
                _tell_followed(output, moment)
            told = len(moments)
        elif stands is not Standing.RUNNING:
            break
        else:
            await asyncio.sleep(_LOOKS_EVERY_S)
    output.say(
        f"{stored.run_id} {'has ended' if stands is Standing.ENDED else stands.value}: {stored.ending or ''}"
    )
    output.say(f"Next: {next_step(stored.run_id, stands)}")
    return 0


def _tell_followed(output: Output, moment: Moment) -> None:
    if output.is_json:
        output.json_line(_moment_json(moment))
    elif _is_telling(moment):
        _tell_moment(output, moment)


def _is_telling(moment: Moment) -> bool:
    return moment.severity.value != "debug" and moment.type not in _QUIET


def _moment_json(moment: Moment) -> dict[str, object]:
    return {
        "seq": moment.seq,
        "time": iso(moment.time),
        "at_s": round(moment.at_s, 6),
        "scope": moment.scope,
        "turn": moment.turn,
        "type": moment.type,
        "severity": moment.severity.value,
        "title": moment.title,
        "detail": moment.detail,
    }


def _sources(facts: Sequence[Fact]) -> list[SourceCited]:
    from endstop.events.facts import SourceCited

    return [fact.payload for fact in facts if isinstance(fact.payload, SourceCited)]
