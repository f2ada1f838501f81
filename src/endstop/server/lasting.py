"""How long a stream lasts: as long as its caller may come in, and no longer (I6).

A request is looked at once, when it comes; a stream may be open for hours after that. So while one is open,
its caller is looked up again every second, beside the events and not with each of them. All streams of one
token or session share what was found, so a thousand of them ask the store as often as one does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endstop.errors import StoreError
from endstop.server.sse import MEDIA_TYPE

if TYPE_CHECKING:
    from endstop.server.access import Caller

LOOK_EVERY_S = 1.0
"""With the second for which a caller is trusted, a stream is cut within two."""

_LAST_WORD_S = 1.0
"""A client that takes no more bytes is not waited for: its connection is closed without an end."""


class Lasting:
    """Answers a request; if that is with a stream, only while its caller is known."""

    def __init__(
        self,
        app: ASGIApp,
        is_still_known: Callable[[Caller], Awaitable[bool]],
        *,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._app = app
        self._is_still_known = is_still_known
        self._look_every_s = look_every_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        failed: Exception | None = None
        looking: asyncio.Task[None] | None = None
        has_ended = is_cut = False

        async def watched(message: Message) -> None:
            nonlocal looking, has_ended
            if message["type"] == "http.response.start" and _is_stream(message):
                caller: Caller | None = scope.get("state", {}).get("caller")
                if caller is not None:
                    looking = group.create_task(self._look_after(caller))
            await send(message)
            has_ended = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            async with asyncio.TaskGroup() as group:
                try:
                    await self._app(scope, receive, watched)
                except Exception as error:  # noqa: BLE001 - raised again below, where no group wraps it
                    failed = error
                finally:
                    if looking is not None:
                        looking.cancel()
        except* _UnknownError:
            is_cut = True
        if is_cut and not has_ended:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORD_S):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif failed is not None:
            raise failed

    async def _look_after(self, caller: Caller) -> None:
        while True:
            await asyncio.sleep(self._look_every_s)
            with suppress(StoreError):  # a store that stumbles says nothing of the caller
                if not await self._is_still_known(caller):
                    raise _UnknownError


class _UnknownError(Exception):
    """The caller of a stream may come in no more."""


def _is_stream(message: Message) -> bool:
    return Headers(raw=message.get("headers", [])).get("content-type", "").startswith(MEDIA_TYPE)
