"""Runs: listed, shown, streamed, explained, audited, exported; cancelled, resumed, answered."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from endstop.errors import InvalidValueError
from endstop.events.audit import audit
from endstop.events.codec import encode, to_json
from endstop.events.explain import explain
from endstop.events.timeline import timeline
from endstop.kernel.review import RunPhase
from endstop.ports import Store
from endstop.server.access import Caller, CallerHere
from endstop.server.context import Context, ContextHere
from endstop.server.owned import own_run
from endstop.server.problems import problem_responses
from endstop.server.routes_oracle import STREAM_EXAMPLE
from endstop.server.shapes import (
    AuditShape,
    CheckShape,
    ExplanationShape,
    FactPage,
    MomentShape,
    RunDetail,
    RunPage,
    RunShape,
)
from endstop.server.shapes_given import Answer, Cancel, Resume
from endstop.server.sse import EventStream, event_stream, stream_responses
from endstop.server.stream import Cursor

router = APIRouter(prefix="/api/runs", tags=["runs"])

_PAGE = 500
_CURSOR = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)/(.{1,500})", re.DOTALL)
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")

Ended = Literal["completed", "forced", "stopped", "abandoned", "cancelled", "failed"]


@router.get("", responses=problem_responses(422), summary="List your runs")
async def list_runs(
    caller: CallerHere,
    context: ContextHere,
    phase: Annotated[list[RunPhase] | None, Query(description="Only those in one of these phases.")] = None,
    agent: Annotated[str | None, Query(max_length=1_000)] = None,
    project: Annotated[str | None, Query(max_length=4_000)] = None,
    text: Annotated[str | None, Query(max_length=1_000, description="Words of the question.")] = None,
    ended: Annotated[Ended | None, Query(description="Only those that ended like this.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=600, description="`next` of the page before.")] = None,
) -> RunPage:
    """Newest first, page by page."""
    before, before_run = _read_cursor(cursor)
    found = await context.app.store.runs(
        user=caller.user,
        project=project,
        phases=phase or (),
        agent=agent,
        text=text,
        ending=ended,
        most=limit + 1,
        before=before,
        before_run=before_run,
    )
    now = time.time()
    shown = found[:limit]
    more = f"{shown[-1].started_at!r}/{shown[-1].run_id}" if len(found) > limit else None
    is_inline = context.app.runner.is_inline
    return RunPage(runs=[RunShape.of(run, now=now, is_inline=is_inline) for run in shown], next=more)


def _read_cursor(cursor: str | None) -> tuple[float | None, str | None]:
    if cursor is None:
        return None, None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidValueError("cursor", cursor, allowed="`next` of the page before, as it came")
    return float(found[1]), found[2]


@router.get("/{run_id}", responses=problem_responses(404), summary="One run, with all its figures")
async def get_run(run_id: str, caller: CallerHere, context: ContextHere) -> RunDetail:
    """What it was asked, what it used of what it was allowed, its answer and what that rests on."""
    stored = await own_run(context.app.store, caller, run_id)
    facts = await context.app.store.record(run_id)
    is_inline = context.app.runner.is_inline
    return await asyncio.to_thread(RunDetail.of_record, stored, facts, now=time.time(), is_inline=is_inline)


@router.get(
    "/{run_id}/stream",
    response_class=EventStream,
    responses={
        **stream_responses("What follows the last id, up to `done`.", STREAM_EXAMPLE),
        **problem_responses(404, 422),
    },
    summary="Follow a run",
)
async def stream_run(
    run_id: str,
    caller: CallerHere,
    context: ContextHere,
    last_event_id: Annotated[str | None, Header(description="The last id that came.")] = None,
    after: Annotated[str | None, Query(description="The same, where no header can be set.")] = None,
) -> EventStream:
    """Everything after the last id, from the first fact if there is none: no loss, no repeats.

    Text that streams has ids such as `12+345`. If a reply is thrown away that was shown in part, `retract`
    says so: forget the last `chars` characters of content and `thinking_chars` of thinking of that turn.
    """
    await own_run(context.app.store, caller, run_id)
    telling = await context.hub.telling(run_id, Cursor.read(last_event_id or after))
    return event_stream(context.hub.follow(run_id, telling))


@router.get("/{run_id}/facts", responses=problem_responses(404, 422), summary="The record, fact by fact")
async def get_facts(
    run_id: str,
    caller: CallerHere,
    context: ContextHere,
    after: Annotated[int, Query(ge=-1, le=2**53, description="Facts with a greater number.")] = -1,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 200,
) -> FactPage:
    """The facts as they are kept, in their order."""
    await own_run(context.app.store, caller, run_id)
    found = await context.app.store.record(run_id, after=after, most=limit + 1)
    shown = found[:limit]
    return FactPage(
        facts=[to_json(fact) for fact in shown], next_after=shown[-1].seq if len(found) > limit else None
    )


@router.get("/{run_id}/timeline", responses=problem_responses(404), summary="What happened when")
async def get_timeline(run_id: str, caller: CallerHere, context: ContextHere) -> list[MomentShape]:
    """Every fact as one line for people."""
    await own_run(context.app.store, caller, run_id)
    facts = await context.app.store.record(run_id)
    return await asyncio.to_thread(lambda: [MomentShape.of(moment) for moment in timeline(facts)])


@router.get("/{run_id}/audit", responses=problem_responses(404), summary="Did it keep its promises?")
async def get_audit(run_id: str, caller: CallerHere, context: ContextHere) -> AuditShape:
    """Proof from the record alone. A run that has not ended has not kept all of them yet."""
    await own_run(context.app.store, caller, run_id)
    found = await asyncio.to_thread(audit, await context.app.store.record(run_id))
    checks = [CheckShape(name=one.name, holds=one.holds, detail=one.detail) for one in found.checks]
    return AuditShape(run_id=run_id, holds=found.holds, checks=checks)


@router.get("/{run_id}/explain", responses=problem_responses(404), summary="Why did it stop?")
async def get_explanation(run_id: str, caller: CallerHere, context: ContextHere) -> ExplanationShape:
    """In plain words, with the evidence."""
    await own_run(context.app.store, caller, run_id)
    told = await asyncio.to_thread(explain, await context.app.store.record(run_id))
    return ExplanationShape(
        headline=told.headline,
        why=told.why,
        evidence=list(told.evidence),
        spent=list(told.spent),
        kept=told.kept,
        to_do=told.to_do,
    )


@router.get(
    "/{run_id}/export",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One fact per line, as JSON.",
            "content": {"application/jsonl": {"schema": {"type": "string"}}},
        },
        **problem_responses(404),
    },
    summary="Download the record",
)
async def export_run(run_id: str, caller: CallerHere, context: ContextHere) -> StreamingResponse:
    """The whole record, to keep or to audit elsewhere."""
    await own_run(context.app.store, caller, run_id)
    name = _UNSAFE.sub("_", run_id)[:100]
    headers = {"Content-Disposition": f'attachment; filename="{name}.jsonl"'}
    lines = _lines(context.app.store, run_id)
    return StreamingResponse(lines, media_type="application/jsonl", headers=headers)


async def _lines(store: Store, run_id: str) -> AsyncIterator[bytes]:
    seq = -1
    while page := await store.record(run_id, after=seq, most=_PAGE):
        yield b"".join(encode(fact).encode() + b"\n" for fact in page)
        seq = page[-1].seq


class Cancelling(BaseModel):
    """What came of it."""

    run_id: str
    is_done: bool = Field(description="False: its process has been asked to, and will hear it in a moment.")


@router.post("/{run_id}/cancel", responses=problem_responses(400, 404, 409, 413, 422), summary="End a run")
async def cancel_run(
    run_id: str, caller: CallerHere, context: ContextHere, given: Cancel | None = None
) -> Cancelling:
    """End it at once, which cuts the reply under way, or after its turn. What was gathered is kept."""
    await own_run(context.app.store, caller, run_id)
    after_turn = given is not None and given.after_turn
    is_done = await context.app.runner.cancel(run_id, by=caller.user, after_turn=after_turn)
    return Cancelling(run_id=run_id, is_done=is_done)


@router.post(
    "/{run_id}/resume",
    status_code=202,
    responses=problem_responses(400, 404, 409, 413, 422, 429),
    summary="Go on with a run",
)
async def resume_run(
    run_id: str, caller: CallerHere, context: ContextHere, given: Resume | None = None
) -> RunShape:
    """Go on where it stood, in the background: every counter and its clock as they were.

    A grant approves the review that it waits for, an answer is what its agent asked for. Follow it with its
    stream and the last id you have.
    """
    await own_run(context.app.store, caller, run_id)
    given = Resume() if given is None else given
    grant = None if given.grant is None else given.grant.grant(caller.user)
    return await _resumed(context, caller, run_id, grant=grant, answer=given.answer)


@router.post(
    "/{run_id}/answer",
    status_code=202,
    responses=problem_responses(400, 404, 409, 413, 422, 429),
    summary="Answer what its agent asked",
)
async def answer_run(run_id: str, given: Answer, caller: CallerHere, context: ContextHere) -> RunShape:
    """Answer, and let the run go on. The time it waited is not charged to it."""
    await own_run(context.app.store, caller, run_id)
    return await _resumed(context, caller, run_id, answer=given.answer)


async def _resumed(context: Context, caller: Caller, run_id: str, **options: object) -> RunShape:
    with await context.access.admit_query(caller):
        await context.hub.resume(run_id, **options)
    stored = await context.app.store.run(run_id)
    return RunShape.of(stored, now=time.time(), is_inline=context.app.runner.is_inline)
