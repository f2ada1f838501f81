"""Connections that send nothing, or next to nothing: closed before they are in anybody's way.

uvicorn waits for ever for the first request of a connection, and for the rest of a header that comes
letter by letter. A thousand such connections would use up all the files that a process may have open.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""So long may the head of a request take, from the first moment of the connection."""

MOST_SILENT = 200
"""When more than these have sent no request yet, the one that has been silent longest is closed."""


class Silent:
    """The connections that have not yet sent the head of a request, the oldest first."""

    def __init__(self, most: int = MOST_SILENT) -> None:
        self._most = most
        self._waiting: dict[asyncio.Transport, None] = {}

    def add(self, transport: asyncio.Transport) -> None:
        self._waiting[transport] = None
        while len(self._waiting) > self._most:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.abort()

    def remove(self, transport: asyncio.Transport) -> None:
        self._waiting.pop(transport, None)

    def __len__(self) -> int:
        return len(self._waiting)


class BriskProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, save that it waits for the head of a request only so long."""

    silent = Silent()
    """Shared: the files of a process are."""
    head_s = HEAD_S

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.silent.add(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        if self._closing is None:  # the first bytes of a further request on the same connection
            self._wait_for_head()
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before or self._is_under_way:
            self.silent.remove(self.transport)
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        has_begun_another = bool(self.conn.trailing_data[0]) and not self._is_under_way
        if has_begun_another and self._closing is None:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self.silent.remove(self.transport)
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_under_way(self) -> bool:
        """A request is being read or answered: its body has a deadline of its own."""
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison] - None at first

    def _wait_for_head(self) -> None:
        self._closing = self.loop.call_later(self.head_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
