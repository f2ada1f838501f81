"""Coding sessions: proposed, begun, listed, shown, with what each round has changed (section G)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query

from endstop.app.coding import can_code
from endstop.coding import CODING
from endstop.coding.branches import Standing
from endstop.coding.examples import EXAMPLES
from endstop.coding.repository import rounds_of, standing_of
from endstop.errors import EndstopError
from endstop.events.coding_standing import SessionView
from endstop.events.coding_view import session_view
from endstop.kernel.review import RunPhase
from endstop.ports import Store, StoredRun
from endstop.server.access import Caller, CallerHere
from endstop.server.coding_given import Begin, Begun, ExampleShape, Offer, Proposal, Propose
from endstop.server.coding_repositories import Repositories
from endstop.server.coding_sessions import CodingHere
from endstop.server.coding_shapes import CodingSessionShape, DiffShape, SessionRow
from endstop.server.coding_work import diff_of, folder_of, standings
from endstop.server.context import ContextHere
from endstop.server.owned import own_session
from endstop.server.problems import problem_responses
from endstop.tools.threads import call_in_thread

router = APIRouter(prefix="/api/coding", tags=["coding"])


@router.get("", responses=problem_responses(422), summary="List your coding sessions")
async def list_sessions(
    caller: CallerHere,
    context: ContextHere,
    coding: CodingHere,
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
) -> list[SessionRow]:
    """Newest first: where each stands, what it has spent, and what has become of its work."""
    store = context.app.store
    runs = await store.runs(user=caller.user, agent=CODING, most=limit)
    theirs = {run.run_id: _usable(coding.repositories, caller, run) for run in runs}
    views, standing = await _views(store, runs), await _standings(theirs)
    return [
        SessionRow.of(
            run,
            views.get(run.run_id),
            repository=str(theirs[run.run_id] or ""),
            standing=standing.get(run.run_id),
        )
        for run in runs
    ]


@router.get("/offer", responses=problem_responses(), summary="What a session can be begun with")
async def get_offer(caller: CallerHere, context: ContextHere, coding: CodingHere) -> Offer:
    """The configured model, and the repositories that this server works in."""
    model = context.app.config.model
    return Offer(
        model=model,
        can_code=can_code(model),
        repositories=[str(folder) for folder in await call_in_thread(coding.repositories.offered)],
        any_repository=coding.repositories.may_name_any(caller),
    )


@router.get("/examples", responses=problem_responses(), summary="Sessions that need no key")
async def list_examples(_: CallerHere) -> list[ExampleShape]:
    """A script stands for the model; the repository, the files, the tests and the commits are real."""
    return [ExampleShape.of(example) for example in EXAMPLES.values()]


@router.post(
    "/proposal", responses=problem_responses(400, 413, 422), summary="Look at a session before it begins"
)
async def propose(given: Propose, caller: CallerHere, context: ContextHere, coding: CodingHere) -> Proposal:
    """What is unusual, how tests and commands are run, what it can cost at most. Nothing is started."""
    return await coding.propose(context, caller, given)


@router.post(
    "",
    status_code=202,
    responses=problem_responses(400, 409, 413, 422, 429),
    summary="Begin a coding session",
)
async def begin(given: Begin, caller: CallerHere, context: ContextHere, coding: CodingHere) -> Begun:
    """Begin it in the background. It works on a branch of its own; your files stay as they are.

    Follow it as any run (`GET /api/runs/{run_id}/stream`). When it asks something, be it whether its price is
    right, answer with `POST /api/runs/{run_id}/answer`.
    """
    return Begun(run_id=await coding.begin(context, caller, given))


@router.get("/{run_id}", responses=problem_responses(404), summary="One session, round by round")
async def get_session(
    run_id: str, caller: CallerHere, context: ContextHere, coding: CodingHere
) -> CodingSessionShape:
    """What was specified, priced and built so far, what it asks, how it ended, and how git has it."""
    stored = await own_session(context.app.store, caller, run_id)
    facts = await context.app.store.record(run_id)
    folder = session_view(facts).repository or stored.project or ""
    standing, commits, problem = None, (), None
    try:
        repository = await coding.repositories.of_session(caller, run_id, folder)
        standing, commits = await standing_of(repository, run_id), await rounds_of(repository, run_id)
    except (EndstopError, OSError) as error:
        problem = error.what if isinstance(error, EndstopError) else "It cannot be read"
    return await asyncio.to_thread(
        CodingSessionShape.of,
        stored,
        facts,
        standing=standing,
        commits=commits,
        problem=problem,
        repository=folder if coding.repositories.may_use_of(caller, run_id, Path(folder)) else "",
    )


@router.get("/{run_id}/diff", responses=problem_responses(404, 409, 422), summary="What a round has changed")
async def get_diff(
    run_id: str,
    caller: CallerHere,
    context: ContextHere,
    coding: CodingHere,
    number: Annotated[
        int | None,
        Query(alias="round", ge=0, le=1_000, description="Against the round before. None or 0: all of it."),
    ] = None,
) -> DiffShape:
    """What is committed, as `git diff` writes it; cut where it is very long."""
    stored = await own_session(context.app.store, caller, run_id)
    folder = await folder_of(context.app.store, stored)
    repository = await coding.repositories.of_session(caller, run_id, folder)
    found = await diff_of(repository, run_id, number)
    return DiffShape(text=found.text, is_cut=found.is_cut)


def _usable(repositories: Repositories, caller: Caller, run: StoredRun) -> Path | None:
    """The repository of a session, if the caller may use it."""
    folder = Path(run.project or "")
    return folder if run.project and repositories.may_use_of(caller, run.run_id, folder) else None


async def _views(store: Store, runs: Sequence[StoredRun]) -> dict[str, SessionView]:
    """What the records tell of sessions that have not ended."""
    found: dict[str, SessionView] = {}
    for run in runs:
        if run.phase is not RunPhase.ENDED:
            found[run.run_id] = await asyncio.to_thread(session_view, await store.record(run.run_id))
    return found


async def _standings(folders: dict[str, Path | None]) -> dict[str, Standing]:
    """How sessions stand, asked once in each repository."""
    sessions: dict[Path, list[str]] = defaultdict(list)
    for session, folder in folders.items():
        if folder is not None:
            sessions[folder].append(session)
    found: dict[str, Standing] = {}
    for folder, theirs in sessions.items():
        found |= await standings(folder, theirs)
    return found
