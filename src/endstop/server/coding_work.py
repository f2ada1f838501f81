"""The work of coding sessions as their repositories have it: how it stands, and what was changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from endstop.coding import branches
from endstop.coding.branches import RoundCommit, Standing, branch_ref, note_ref
from endstop.coding.repository import Repository, open_repository
from endstop.coding.worktree import CUT, Worktree
from endstop.errors import EndstopError, InvalidValueError, RepositoryError
from endstop.events.coding import SessionOpened
from endstop.ports import Store, StoredRun

MOST_DIFF_CHARS = 400_000
_FIRST_FACTS = 20
"""Among these a session has said where it works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What was changed."""

    text: str
    is_cut: bool


async def folder_of(store: Store, run: StoredRun) -> str:
    """The repository that a session has opened, or is about to; empty if nobody knows."""
    for fact in await store.record(run.run_id, most=_FIRST_FACTS):
        if isinstance(fact.payload, SessionOpened):
            return fact.payload.repository
    return run.project or ""


async def standings(folder: Path, sessions: Iterable[str]) -> dict[str, Standing]:
    """How sessions in one repository stand; nothing if it cannot be looked at. Git is asked once for all."""
    try:
        repository = await open_repository(folder)
        listed = await repository.common.line(
            "for-each-ref", "--format=%(refname)", "refs/endstop/", "refs/heads/endstop/"
        )
        there = frozenset(listed.splitlines())
        return {session: _standing(there, session) for session in sessions}
    except (EndstopError, OSError):
        return {}


async def diff_of(repository: Repository, session: str, number: int | None) -> Diff:
    """What a round has changed since the one before it; without a number, what all of them have."""
    common = repository.common
    opened = await branches.opened_of(common, session)
    tip = await branches.tip_of(common, session)
    if opened is None or tip is None:
        raise RepositoryError(
            f"Git knows nothing of the session {session} any more",
            to_do="Its branch was deleted by hand; its record still tells what was done",
        )
    since, until = opened.base, tip
    if number:
        rounds = await branches.rounds_of(common, session)
        until = round_in(rounds, number).commit
        since = next((one.commit for one in reversed(rounds) if one.round < number), since)
    worktree = Worktree(repository=repository, session=session, path=Path(opened.worktree), base=opened.base)
    text = await worktree.diff(since, until, most_chars=MOST_DIFF_CHARS)
    return Diff(text=text, is_cut=len(text) == MOST_DIFF_CHARS and text.endswith(CUT))


def round_in(rounds: Sequence[RoundCommit], number: int) -> RoundCommit:
    """The round of that number, or ``InvalidValueError``."""
    for one in rounds:
        if one.round == number:
            return one
    there = ", ".join(str(one.round) for one in rounds)
    raise InvalidValueError("round", number, allowed=there or "none yet: no round has ended")


def _standing(there: frozenset[str], session: str) -> Standing:
    for standing in (Standing.ACCEPTED, Standing.DISCARDED):
        if note_ref(session, standing) in there:
            return standing
    return Standing.OPEN if branch_ref(session) in there else Standing.GONE
