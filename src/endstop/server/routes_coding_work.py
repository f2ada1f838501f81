"""What becomes of a session's work: accepted, discarded, taken back to an earlier round (G8)."""

from __future__ import annotations

from fastapi import APIRouter

from endstop.coding import keeping
from endstop.coding.branches import Standing, note_ref
from endstop.coding.keeping import How
from endstop.coding.repository import Repository, rounds_of
from endstop.errors import RepositoryError, RunStateError
from endstop.kernel.review import RunPhase
from endstop.server.access import Caller, CallerHere
from endstop.server.coding_given import Accept, Restore
from endstop.server.coding_sessions import CodingHere, CodingSessions
from endstop.server.coding_shapes import AcceptedShape, DiscardedShape, RestoredShape
from endstop.server.coding_work import folder_of, round_in
from endstop.server.context import Context, ContextHere
from endstop.server.owned import own_session
from endstop.server.problems import problem_responses

router = APIRouter(prefix="/api/coding/{run_id}", tags=["coding"])

MOST_PATCH_BYTES = 20_000_000
"""A larger one is for a file, not for an answer."""

_RESPONSES = problem_responses(400, 404, 409, 413, 422)


@router.post("/accept", responses=_RESPONSES, summary="Take a session's work")
async def accept(
    run_id: str, caller: CallerHere, context: ContextHere, coding: CodingHere, given: Accept | None = None
) -> AcceptedShape:
    """Merge it into the branch that is checked out, or have it as a patch, which changes nothing.

    What is in the way of a merge is said, and then nothing was changed.
    """
    given = Accept() if given is None else given
    repository = await _repository(context, caller, coding, run_id)
    async with coding.changing:
        taken = await keeping.accept(repository, run_id, how=given.how, into=given.into)
    return AcceptedShape(
        how=taken.how,
        branch=taken.branch,
        commit=taken.commit,
        is_fast_forward=taken.is_fast_forward,
        patch=_text(run_id, taken.patch) if taken.how is How.PATCH else None,
    )


@router.post("/discard", responses=_RESPONSES, summary="Put a session's work away")
async def discard(
    run_id: str, caller: CallerHere, context: ContextHere, coding: CodingHere
) -> DiscardedShape:
    """Remove its worktree and its branch. Its last commit can still be found."""
    repository = await _repository(context, caller, coding, run_id)
    async with coding.changing:
        commit = await keeping.discard(repository, run_id)
    return DiscardedShape(commit=commit, ref=note_ref(run_id, Standing.DISCARDED))


@router.post("/restore", responses=_RESPONSES, summary="Go back to a round")
async def restore(
    run_id: str, given: Restore, caller: CallerHere, context: ContextHere, coding: CodingHere
) -> RestoredShape:
    """Its branch gets a new commit with the content of that round: to be looked at, or accepted."""
    repository = await _repository(context, caller, coding, run_id)
    async with coding.changing:
        round_in(await rounds_of(repository, run_id), given.round)
        commit = await keeping.restore_round(repository, run_id, given.round)
    return RestoredShape(round=given.round, commit=commit)


async def _repository(context: Context, caller: Caller, coding: CodingSessions, run_id: str) -> Repository:
    """The repository of a session that has ended."""
    stored = await own_session(context.app.store, caller, run_id)
    if stored.phase is not RunPhase.ENDED:
        raise RunStateError(
            f"The session {run_id} has not ended",
            allowed="sessions that have",
            to_do="Wait until it has, or cancel it: what it has done is kept",
        )
    folder = await folder_of(context.app.store, stored)
    return await coding.repositories.of_session(caller, run_id, folder)


def _text(run_id: str, patch: bytes) -> str:
    try:
        if len(patch) <= MOST_PATCH_BYTES:
            return patch.decode()
        why = f"is larger than {MOST_PATCH_BYTES // 1_000_000} MB"
    except UnicodeDecodeError:
        why = "has files in it that are not UTF-8"
    raise RepositoryError(
        f"The patch {why}",
        allowed="a patch that can be sent as text",
        to_do=f"Take it in a terminal: endstop session accept {run_id} --patch FILE",
    )
