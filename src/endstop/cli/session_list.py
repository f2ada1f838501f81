"""Coding sessions shown: all of them in a list, or one as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endstop.cli.build_ending import headline, session_json, tell_evidence, tell_next, tell_rounds
from endstop.cli.build_words import lines_of, stepper, tell_line
from endstop.cli.output import Column, Output
from endstop.cli.session_found import WATCH_ONE, Session, find_session, sessions, work_of
from endstop.cli.standing import Standing, next_step, run_json, standing
from endstop.cli.texts import local_time, one_line
from endstop.coding.branches import Standing as WorkStanding
from endstop.coding.branches import branch_of
from endstop.coding.repository import Repository, open_repository, rounds_of, standing_of
from endstop.errors import RepositoryError, RunStateError
from endstop.events.coding_view import short_commit

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.ports import StoredRun

_COLUMNS = (
    Column(name="run"),
    Column(name="started"),
    Column(name="intent", may_shrink=True),
    Column(name="state", may_shrink=True),
    Column(name="work"),
    Column(name="rounds", is_number=True),
    Column(name="repository", may_shrink=True),
)
_NOT_THERE = "repository not there"


async def tell_sessions(app: App, output: Output) -> int:
    """Print all sessions, newest first, with what became of their work."""
    found = await sessions(app)
    left_open = {run.run_id for run in await app.runner.left_open()}
    repositories: dict[str, Repository | None] = {}
    rows: list[tuple[StoredRun, Standing, WorkStanding | None, int]] = []
    for run in found:
        path = run.project or ""
        if path not in repositories:
            repositories[path] = await _opened(path)
        repository = repositories[path]
        if repository is None:
            rows.append((run, standing(run, left_open), None, 0))
        else:
            rounds = len(await rounds_of(repository, run.run_id))
            work = await standing_of(repository, run.run_id)
            rows.append((run, standing(run, left_open), work, rounds))
    if output.is_json:
        output.document(
            [
                {
                    **run_json(run, stands),
                    "work": None if work is None else work.value,
                    "branch": branch_of(run.run_id),
                    "rounds": rounds,
                }
                for run, stands, work, rounds in rows
            ]
        )
    elif rows:
        output.table(_COLUMNS, [_row(*row, is_terminal=output.is_terminal) for row in rows])
        output.say(f"Look at one: endstop session show {rows[0][0].run_id}")
    else:
        output.say(f"No coding session yet. Watch one: {WATCH_ONE}")
    return 0


async def tell_one(app: App, output: Output, given: str) -> int:
    """Print one session: what happened, what that rests on, its rounds, its work."""
    session = await find_session(app, given)
    work, words = await _work(session)
    if output.is_json:
        output.document(
            {
                **run_json(session.stored, session.stands),
                "work": None if work is None else work.value,
                "session": session_json(session.view),
            }
        )
        return 0
    _tell_head(output, session, words)
    output.say()
    for fact in session.facts:
        for line in lines_of(fact.payload):
            tell_line(output, line.text, style=line.style)
    tell_evidence(output, session.view)
    if session.view.ended_rounds:
        output.say()
        output.say("Rounds", style="bold")
        tell_rounds(output, session.view.rounds)
    _tell_next(output, session, work)
    return 0


def _tell_head(output: Output, session: Session, work: str) -> None:
    view, stored = session.view, session.stored
    end = view.conclusion
    output.say(f"{session.id}  {one_line(view.intent, 200)}", style="bold")
    output.say(stepper(view))
    if view.outcome is not None:
        words, style = headline(view.outcome, None if end is None else end.kind)
        output.say(words, style=f"bold {style}")
    output.pairs(
        [
            ("state", session.stands.value),
            ("waits for", "" if view.asked is None else one_line(view.asked.question, 200)),
            ("ended", stored.ending or ""),
            ("model", stored.model),
            ("started", local_time(stored.started_at)),
            ("repository", view.repository),
            ("branch", view.branch),
            ("work", work),
        ],
        indent="  ",
    )


def _tell_next(output: Output, session: Session, work: WorkStanding | None) -> None:
    if session.stands is not Standing.ENDED:
        output.say()
        output.say(f"Go on: {next_step(session.id, session.stands)}")
    elif work is WorkStanding.OPEN:
        tell_next(output, session.view)


async def _work(session: Session) -> tuple[WorkStanding | None, str]:
    """What became of the work, and the same in words."""
    try:
        found = await work_of(session)
    except (RepositoryError, RunStateError) as error:
        return None, error.what
    saved = session.view.saved_at
    commit = "" if saved is None else f", commit {short_commit(saved)}"
    return found.standing, f"{found.standing.value}{commit}"


async def _opened(path: str) -> Repository | None:
    try:
        return await open_repository(path) if path else None
    except RepositoryError:
        return None


def _row(
    run: StoredRun, stands: Standing, work: WorkStanding | None, rounds: int, *, is_terminal: bool
) -> tuple[str, ...]:
    started = local_time(run.started_at)
    state = one_line(run.ending or "", 60) if stands is Standing.ENDED else stands.value
    return (
        run.run_id,
        started[5:16] if is_terminal else started,
        one_line(run.question, 50),
        state,
        _NOT_THERE if work is None else work.value,
        f"{rounds:,}",
        run.project or "",
    )
