"""Reviews: runs that met a hard limit and wait for somebody to decide (D3, D4)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from endstop.errors import EndstopError, RunStateError, UnknownRunError
from endstop.events.index import decision_word
from endstop.kernel.review import RunPhase
from endstop.ports import StoredReview, StoredRun
from endstop.server.access import Caller, CallerHere
from endstop.server.context import Context, ContextHere
from endstop.server.owned import own_run
from endstop.server.problems import problem_responses
from endstop.server.shapes import FindingShape, RunShape, moment_of, moment_or_none
from endstop.server.shapes_given import Decide

router = APIRouter(prefix="/api/reviews", tags=["reviews"])


class ReviewShape(BaseModel):
    """A review: why, what it was doing, what it spent, what was found, and what was decided."""

    run_id: str
    review_id: str
    conversation_id: str | None = Field(description="That of its run.")
    question: str = Field(description="What its run was asked; cut if it is long.")
    why: str = Field(examples=["Maximum coding iterations (8) reached"])
    doing: str
    spent: str
    findings: list[FindingShape]
    origin: str = Field(description="The state that the run goes back to.")
    warnings: list[str]
    times_in_a_row: int = Field(description="How often in a row changes were asked for before this one.")
    requested_at: datetime
    decision: str | None = Field(description="approved, needs_changes, rejected; null while it is open.")
    decided_by: str | None
    decided_at: datetime | None

    @classmethod
    def of(cls, stored: StoredReview, run: StoredRun) -> ReviewShape:
        review = stored.review
        return cls(
            run_id=stored.run_id,
            review_id=review.id,
            conversation_id=run.conversation_id,
            question=run.question,
            why=review.why,
            doing=review.doing,
            spent=review.spent,
            findings=[FindingShape.of(one) for one in review.findings],
            origin=review.origin,
            warnings=list(review.warnings),
            times_in_a_row=review.changes_asked_in_a_row,
            requested_at=moment_of(stored.requested_at),
            decision=stored.decision,
            decided_by=stored.by,
            decided_at=moment_or_none(stored.decided_at),
        )


class Decided(BaseModel):
    """What counts, and how the run stands by it."""

    decision: str = Field(description="What counts: it may differ from what was asked for.")
    is_resumed: bool = Field(description="The run goes on, here and now.")
    why_not: str | None = Field(description="Why it does not; it can be resumed later.")
    run: RunShape


@router.get("", responses=problem_responses(422), summary="List your reviews")
async def list_reviews(
    caller: CallerHere,
    context: ContextHere,
    is_open: Annotated[bool | None, Query(description="Only those that wait, or only the others.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> list[ReviewShape]:
    """Those that wait to be decided first, then the others, newest first."""
    store = context.app.store
    found = await store.reviews(user=caller.user, is_open=is_open)
    found.sort(key=lambda one: one.decision is not None)
    shown = found[:limit]
    runs = {run_id: await store.run(run_id) for run_id in {one.run_id for one in shown}}
    return [ReviewShape.of(one, runs[one.run_id]) for one in shown]


@router.get("/{run_id}/{review_id}", responses=problem_responses(404), summary="One review")
async def get_review(run_id: str, review_id: str, caller: CallerHere, context: ContextHere) -> ReviewShape:
    """All that a decision rests on."""
    review = await _own_review(context, caller, run_id, review_id)
    return ReviewShape.of(review, await context.app.store.run(run_id))


@router.post(
    "/{run_id}/{review_id}/decide",
    responses=problem_responses(400, 404, 409, 413, 422),
    summary="Decide a review",
)
async def decide_review(
    run_id: str, review_id: str, given: Decide, caller: CallerHere, context: ContextHere
) -> Decided:
    """Approve with a grant, ask for changes with feedback and a grant, or reject.

    The run goes on at once, in the background, unless it was rejected: then it has ended as abandoned, with
    its work saved.
    """
    review = await _own_review(context, caller, run_id, review_id)
    if review.decision is not None:
        raise RunStateError(
            f"The review {review_id} of {run_id} was decided already: {review.decision}",
            allowed="reviews that wait to be decided",
            to_do="Look at the run: it has gone on, or has ended",
        )
    counts = await context.app.runner.decide(run_id, given.decided(caller.user))
    is_over = (await context.app.store.run(run_id)).phase is RunPhase.ENDED
    why_not = "It was rejected" if is_over else await _resume(context, run_id)
    stored = await context.app.store.run(run_id)
    return Decided(
        decision=decision_word(counts),
        is_resumed=why_not is None,
        why_not=why_not,
        run=RunShape.of(stored, now=time.time(), is_inline=context.app.runner.is_inline),
    )


async def _resume(context: Context, run_id: str) -> str | None:
    """Go on with a run; why not, if that cannot be done here. The decision counts all the same."""
    try:
        await context.hub.resume(run_id)
    except EndstopError as error:
        return str(error)
    return None


async def _own_review(context: Context, caller: Caller, run_id: str, review_id: str) -> StoredReview:
    await own_run(context.app.store, caller, run_id)
    found: Sequence[StoredReview] = await context.app.store.reviews(run_id=run_id)
    for one in found:
        if one.review.id == review_id:
            return one
    raise UnknownRunError(
        f"There is no review {review_id!r} of the run {run_id!r}", to_do="List yours: GET /api/reviews"
    )
