"""Asking: a question starts a run, and its answer streams (I1)."""

from __future__ import annotations

from fastapi import APIRouter

from endstop.server.access import CallerHere
from endstop.server.context import ContextHere
from endstop.server.problems import problem_responses
from endstop.server.questions import QuestionsHere
from endstop.server.shapes_given import Query
from endstop.server.sse import EventStream, event_stream, stream_responses
from endstop.server.stream import Telling

router = APIRouter(prefix="/api/oracle", tags=["oracle"])

STREAM_EXAMPLE = (
    'id: 0.0\ndata: {"type":"budget","limits":{"turns":30,"tokens":200000,"seconds":300.0},'
    '"warn_percent":{"turns":70,"tokens":80},"reserve_percent":5,"model":"endstop:extractive",'
    '"started_at":1760000000.0,"at":1760000000.0}\n\n'
    'id: 2.0\ndata: {"type":"context_update","turn":0,"is_last_turn":false}\n\n'
    'id: 4+12\ndata: {"type":"content","content":"Limits are ch"}\n\n'
    'id: 9.0\ndata: {"type":"done","outcome":"completed","answer":"Limits are checked in …",'
    '"is_forced":false,"warnings":[]}\n\n'
)


@router.post(
    "/query",
    response_class=EventStream,
    responses={
        **stream_responses(
            "The chunks of the run, up to `done`. `X-Run-Id` names the run, `X-Conversation-Id` its "
            "conversation.",
            STREAM_EXAMPLE,
        ),
        **problem_responses(400, 404, 408, 409, 413, 422, 429),
    },
    summary="Ask something about a project",
)
async def ask(
    query: Query, caller: CallerHere, context: ContextHere, questions: QuestionsHere
) -> EventStream:
    """Start a run and stream what it does.

    The run lives on if the connection does not: go on with `GET /api/runs/{run_id}/stream` and the last id
    in `Last-Event-ID`. At a limit, `on_limit` decides: with `review` the run pauses, `done` says
    `under_review`, and a grant lets it go on.
    """
    run_id, conversation_id = await questions.start(context, caller, query)
    headers = {"X-Run-Id": run_id, "X-Conversation-Id": conversation_id}
    return event_stream(context.hub.follow(run_id, Telling.from_the_start()), headers)
