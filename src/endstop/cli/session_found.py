"""Which coding session is meant, its record, and its work in the repository it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from endstop.cli.naming import LAST, all_runs, find_run
from endstop.cli.standing import Standing, next_step, standing
from endstop.coding import CODING
from endstop.coding.branches import Standing as WorkStanding
from endstop.coding.repository import Repository, open_repository, standing_of
from endstop.coding.worktree import Worktree
from endstop.errors import RepositoryError, RunStateError, UnknownRunError
from endstop.events.coding_view import session_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from endstop.app import App
    from endstop.events.coding_standing import SessionView
    from endstop.events.facts import Fact
    from endstop.ports import StoredRun

WATCH_ONE = "endstop build --example accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A coding session by its record."""

    stored: StoredRun
    stands: Standing
    facts: Sequence[Fact]
    view: SessionView

    @property
    def id(self) -> str:
        return self.stored.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a session has done, as git knows it."""

    repository: Repository
    worktree: Worktree
    standing: WorkStanding


async def find_session(app: App, given: str) -> Session:
    """The session that is meant: by its id, its first letters, or ``last`` for the last session."""
    stored = await _last(app) if given == LAST else await find_run(app.store, given)
    if stored.agent != CODING:
        raise RunStateError(
            f"The run {stored.run_id} is no coding session: its agent is {stored.agent}",
            allowed="a run of endstop build",
            to_do=f"See which there are: endstop session list; of this run: endstop show {stored.run_id}",
        )
    facts = await app.store.record(stored.run_id)
    stands = standing(stored, {one.run_id for one in await app.runner.left_open()})
    return Session(stored=stored, stands=stands, facts=facts, view=session_view(facts))


async def sessions(app: App) -> list[StoredRun]:
    """Every coding session, newest first."""
    return [run for run in await all_runs(app.store) if run.agent == CODING]


async def work_of(session: Session) -> Work:
    """The work of a session. Clear words if it has none, or if its repository is not where it was."""
    view = session.view
    if not view.repository:
        raise RunStateError(
            f"The session {session.id} has no work: it never had a place to work in",
            to_do=f"See why: endstop explain {session.id}",
        )
    repository = await opened(view.repository, session.id)
    worktree = Worktree(repository=repository, session=session.id, path=Path(view.worktree), base=view.base)
    return Work(repository=repository, worktree=worktree, standing=await standing_of(repository, session.id))


async def opened(path: str, session: str) -> Repository:
    """The repository of a session, if it is still where it was."""
    try:
        return await open_repository(path)
    except RepositoryError as error:
        raise RepositoryError(
            f"The repository of session {session} cannot be used: {error.what}",
            allowed=f"the repository at {path}, where the session began",
            to_do="If it was moved, move it back; the session's branch is in it",
        ) from None


def require_ended(session: Session) -> None:
    """Refuse what would change work that somebody is still at."""
    if session.stands is Standing.ENDED:
        return
    how = {Standing.RUNNING: "is still under way", Standing.LEFT_OPEN: "was left open"}
    raise RunStateError(
        f"The session {session.id} has not ended: it {how.get(session.stands, session.stands.value)}",
        to_do=f"Let it end ({next_step(session.id, session.stands)}), or end it: endstop cancel {session.id}",
    )


async def _last(app: App) -> StoredRun:
    found = await sessions(app)
    if not found:
        raise UnknownRunError("There is no coding session yet", to_do=f"Watch one: {WATCH_ONE}")
    return found[0]
