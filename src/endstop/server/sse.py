"""Streams on the wire: server-sent events, with a sign of life when there is nothing to say."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from fastapi.responses import StreamingResponse

MEDIA_TYPE = "text/event-stream"
SIGN_OF_LIFE = b": alive\n\n"
_BEGUN = b": begun\n\n"
"""Sent at once, so that a client knows that it is connected before there is anything to tell."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Told(Protocol):
    """Something that can be sent."""

    def to_sse(self) -> bytes: ...


class EventStream(StreamingResponse):
    """Answers with events as they come."""

    media_type = MEDIA_TYPE


def event_stream(
    events: AsyncGenerator[Told | None], headers: Mapping[str, str] | None = None
) -> EventStream:
    """An answer that streams events; None is a sign of life."""
    return EventStream(_lines(events), headers={**_HEADERS, **(headers or {})})


async def _lines(events: AsyncGenerator[Told | None]) -> AsyncIterator[bytes]:
    async with aclosing(events):  # whoever hangs up ends it at once
        yield _BEGUN
        async for event in events:
            yield SIGN_OF_LIFE if event is None else event.to_sse()


def stream_responses(description: str, example: str) -> dict[int | str, dict[str, Any]]:
    """For ``responses=`` of a route that streams."""
    schema = {"type": "string", "description": "Server-sent events; the data of each is JSON with a type."}
    return {
        200: {"description": description, "content": {MEDIA_TYPE: {"schema": schema, "example": example}}}
    }
