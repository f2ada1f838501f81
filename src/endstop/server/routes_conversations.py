"""Conversations: listed, read, branched, deleted (E10)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from endstop.errors import RunStateError, UnknownRunError
from endstop.kernel.observation import RunEnded
from endstop.kernel.review import RunPhase
from endstop.ports import Conversation, Store
from endstop.server.access import CallerHere
from endstop.server.context import ContextHere
from endstop.server.owned import own_conversation
from endstop.server.problems import problem_responses
from endstop.server.shapes import moment_of
from endstop.server.shapes_given import Branch

router = APIRouter(prefix="/api/conversations", tags=["conversations"])


class ConversationShape(BaseModel):
    """A conversation, as lists show it."""

    id: str
    title: str
    project: str | None
    created_at: datetime
    run_ids: list[str] = Field(description="In their order; those it shares with its origin included.")
    branch_of: str | None

    @classmethod
    def of(cls, told: Conversation) -> ConversationShape:
        return cls(
            id=told.id,
            title=told.title,
            project=told.project,
            created_at=moment_of(told.created_at),
            run_ids=list(told.run_ids),
            branch_of=told.branch_of,
        )


class Exchange(BaseModel):
    """One question, and what came of it."""

    run_id: str
    phase: RunPhase
    question: str
    answer: str | None
    ending: str | None
    started_at: datetime


class ConversationDetail(ConversationShape):
    """A conversation with what was said in it."""

    exchanges: list[Exchange] = Field(description="The last ones, in their order.")


@router.get("", responses=problem_responses(422), summary="List your conversations")
async def list_conversations(
    caller: CallerHere, context: ContextHere, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> list[ConversationShape]:
    """Newest first."""
    found = await context.app.store.conversations(user=caller.user, most=limit)
    return [ConversationShape.of(one) for one in found]


@router.get("/{conversation_id}", responses=problem_responses(404, 422), summary="One conversation")
async def get_conversation(
    conversation_id: str,
    caller: CallerHere,
    context: ContextHere,
    limit: Annotated[int, Query(ge=1, le=500, description="At most so many exchanges.")] = 100,
) -> ConversationDetail:
    """Its questions and answers."""
    store = context.app.store
    told = await own_conversation(store, caller, conversation_id)
    exchanges = [await _exchange(store, run_id) for run_id in told.run_ids[-limit:]]
    shape = ConversationShape.of(told)
    return ConversationDetail(**dict(shape), exchanges=exchanges)


@router.post(
    "/{conversation_id}/branch",
    status_code=201,
    responses=problem_responses(400, 404, 413, 422),
    summary="Branch a conversation",
)
async def branch_conversation(
    conversation_id: str, given: Branch, caller: CallerHere, context: ContextHere
) -> ConversationShape:
    """A new conversation that shares the runs up to and including one. The other stays as it is."""
    store = context.app.store
    told = await own_conversation(store, caller, conversation_id)
    if given.after_run not in told.run_ids:
        raise UnknownRunError(
            f"There is no run {given.after_run!r} in the conversation {conversation_id!r}",
            to_do="Branch after one of its runs",
        )
    return ConversationShape.of(await store.branch_conversation(told.id, after_run=given.after_run))


@router.delete(
    "/{conversation_id}",
    status_code=204,
    responses=problem_responses(404, 409),
    summary="Delete a conversation",
)
async def delete_conversation(conversation_id: str, caller: CallerHere, context: ContextHere) -> Response:
    """Forget that these runs belong together. Their records stay, and so do branches."""
    store = context.app.store
    told = await own_conversation(store, caller, conversation_id)
    for run_id in told.run_ids:
        run = await store.run(run_id)
        if run.conversation_id == told.id and run.phase is not RunPhase.ENDED:
            raise RunStateError(
                f"The run {run_id} of this conversation has not ended",
                allowed="conversations whose runs have all ended",
                to_do="Cancel it first",
            )
    await store.delete_conversation(told.id)
    return Response(status_code=204)


async def _exchange(store: Store, run_id: str) -> Exchange:
    run = await store.run(run_id)
    answer: str | None = None
    if run.phase is RunPhase.ENDED:
        for fact in await store.record(run_id, after=run.facts - 2):
            if isinstance(fact.payload, RunEnded):
                answer = getattr(fact.payload.outcome, "answer", None)
    return Exchange(
        run_id=run_id,
        phase=run.phase,
        question=run.question,
        answer=answer,
        ending=run.ending,
        started_at=moment_of(run.started_at),
    )
