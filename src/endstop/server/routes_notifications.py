"""What a user is to know, as one stream: a review waits, an agent asks, a run has ended."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Header, Query

from endstop.server.access import CallerHere
from endstop.server.context import ContextHere
from endstop.server.notices import NoticePlace, follow_notices
from endstop.server.problems import problem_responses
from endstop.server.sse import EventStream, event_stream, stream_responses

router = APIRouter(prefix="/api/notifications", tags=["notifications"])

_EXAMPLE = (
    'id: 1767225600.5/41/run_3f9c\ndata: {"type":"review.requested","run_id":"run_3f9c",'
    '"time":1767225600.5,"review_id":"review:1","why":"Iteration limit reached (10/10)."}\n\n'
)


@router.get(
    "/stream",
    response_class=EventStream,
    responses={
        **stream_responses("Notifications: review.requested, user.awaited, run.ended.", _EXAMPLE),
        **problem_responses(422),
    },
    summary="Be notified",
)
async def stream_notifications(
    caller: CallerHere,
    context: ContextHere,
    last_event_id: Annotated[str | None, Header(description="The last id that came.")] = None,
    after: Annotated[str | None, Query(description="The same, where no header can be set.")] = None,
) -> EventStream:
    """From now on, or from the last id on. It never ends by itself."""
    given = last_event_id or after
    place = NoticePlace.read(given) if given else NoticePlace(time=time.time())
    return event_stream(follow_notices(context.hub, context.app.store, caller.user, place))
