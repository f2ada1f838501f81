"""What every request passes first: the right name, no foreign page, a body of sensible size, in time.

An ASGI middleware. It also lets the link of the start in, adds the headers that browsers want to see, cuts
streams whose callers may come in no more, and writes one line to the log, without anything that is behind
the ``?``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endstop.errors import (
    AccessError,
    EndstopError,
    ForbiddenError,
    RequestError,
    RequestTooLargeError,
    RequestTooSlowError,
)
from endstop.server.access import KEY_HEADER
from endstop.server.hosts import SAFE_METHODS, require_not_from_elsewhere
from endstop.server.lasting import LOOK_EVERY_S, Lasting

if TYPE_CHECKING:
    from endstop.server.access import Access

MOST_BODY_BYTES = 1_000_000
STRANGER_BYTES = 4_096
"""What is larger, or does not say how large it is, is read only for callers who are known."""

BODY_S = 15.0
"""A body must be here by then, all of it."""

_MOST_QUERY = 1_000
_MOST_DIGITS = 20
_ONLY_ONCE = (
    *("host", "authorization", KEY_HEADER, "origin"),
    *("content-length", "content-type", "sec-fetch-site"),
)
_PAGE_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": _PAGE_POLICY,
}
_STATUS: tuple[tuple[type[EndstopError], int], ...] = (
    (ForbiddenError, 403),
    (AccessError, 401),
    (RequestTooLargeError, 413),
    (RequestTooSlowError, 408),
    (RequestError, 400),
)
_log = logging.getLogger("endstop.server.requests")


class Gate:
    """Looks at every request before any route does."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        most_body_bytes: int = MOST_BODY_BYTES,
        body_s: float = BODY_S,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._app = app
        self._most_body_bytes = most_body_bytes
        self._body_s = body_s
        self._look_every_s = look_every_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(scope, send)
        try:
            access: Access = scope["app"].state.context.access
            _look_at(access, scope)
            if _is_link(scope):
                await _let_in(access, scope, answer)
                return
            body = await self._body(access, scope, receive)
        except EndstopError as error:
            await answer.refuse(error)
        except _GoneError:
            return
        else:
            lasting = Lasting(self._app, access.is_still_known, look_every_s=self._look_every_s)
            await lasting(scope, _replayed(body, receive), answer.send)
        finally:
            answer.log()

    async def _body(self, access: Access, scope: Scope, receive: Receive) -> bytes:
        """All of the body, before any route waits for it."""
        headers = Headers(scope=scope)
        told = headers.get("content-length", "0")
        if len(told) > _MOST_DIGITS or not told.isdecimal() or int(told) > self._most_body_bytes:
            raise self._too_large()
        if int(told) > STRANGER_BYTES or "transfer-encoding" in headers:
            await access.caller_of(Request(scope))
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _GoneError
                    body += message.get("body", b"")
                    if len(body) > self._most_body_bytes:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise RequestTooSlowError(
                "The body of the request has not come in time",
                allowed=f"{self._body_s:g} s",
                to_do="Send it at once",
            ) from None

    def _too_large(self) -> RequestTooLargeError:
        return RequestTooLargeError(
            "The body of the request is too large",
            allowed=f"{self._most_body_bytes:,} bytes",
            to_do="Send less, or put it into a file of the project",
        )


class _GoneError(Exception):
    """Whoever sent the request has gone before it was all here."""


class _Answer:
    """What is sent back: with the headers that browsers want, and one line in the log."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._began_s = time.monotonic()
        self._status = 0
        self._run_id: str | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            self._run_id = headers.get("x-run-id")
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if self._scope["path"].startswith("/api"):
                headers.setdefault("cache-control", "no-store")
        await self._send(message)

    async def refuse(self, error: EndstopError) -> None:
        told = {"code": error.code, "what": error.what, "allowed": error.allowed, "to_do": error.to_do}
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 503)
        # The body may not have been read to its end, and is not worth reading.
        await self.whole(status, json.dumps({"error": told}), "application/json", {"connection": "close"})

    async def whole(self, status: int, text: str, kind: str, more: Mapping[str, str]) -> None:
        body = text.encode()
        headers = {
            "content-type": kind,
            "content-length": str(len(body)),
            "cache-control": "no-store",
            **more,
        }
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self.send({"type": "http.response.body", "body": body})

    def log(self) -> None:
        fields: dict[str, Any] = {
            "method": self._scope["method"],
            "path": self._scope["path"],
            "status": self._status,
            "ms": round((time.monotonic() - self._began_s) * 1_000),
            "user": self._scope.get("state", {}).get("user"),
            "run": self._run_id,
        }
        _log.info("request", extra={"fields": fields})


def _look_at(access: Access, scope: Scope) -> None:
    headers = Headers(scope=scope)
    for name in _ONLY_ONCE:
        if len(headers.getlist(name)) > 1:
            raise RequestError(f"The header {name} is there twice", allowed="once", to_do="Send it once")
    host, method = headers.get("host", ""), scope["method"]
    access.hosts.require_host(host)
    require_not_from_elsewhere(
        site=headers.get("sec-fetch-site"),
        mode=headers.get("sec-fetch-mode"),
        method=method,
        path=scope["path"],
    )
    origin = headers.get("origin")
    if method not in SAFE_METHODS and origin is not None:
        access.hosts.require_own_page(host, origin=origin, referer=None)


def _is_link(scope: Scope) -> bool:
    return scope["method"] == "GET" and scope["path"] == "/" and b"token=" in scope["query_string"]


async def _let_in(access: Access, scope: Scope, answer: _Answer) -> None:
    """Turn the token of the link into a cookie and a key, and have the browser forget the link.

    The key is behind a ``#``: the page reads it there, and browsers send it to nobody.
    """
    given = parse_qs(scope["query_string"][:_MOST_QUERY].decode("latin-1")).get("token", [])
    cookie = access.cookie_of(Request(scope))
    signed_in = await access.redeem_link(given[0], cookie=cookie) if len(given) == 1 else None
    if signed_in is not None:
        headers = {
            "location": f"/#key={signed_in.key}",
            "set-cookie": access.set_cookie(signed_in.cookie),
        }
        await answer.whole(303, "", "text/plain", headers)
    elif cookie is not None:  # an old link in a browser that may be in already: the page will see
        await answer.whole(303, "", "text/plain", {"location": "/"})
    else:
        await answer.whole(401, _USED, "text/plain; charset=utf-8", {})


_USED = (
    "This link works once, and for an hour: it was used, or is too old.\n"
    "Stop endstop serve and start it again: it prints a new one.\n"
)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that tells of the body at once, and then of whatever comes after it."""
    is_told = False

    async def told() -> Message:
        nonlocal is_told
        if is_told:
            return await receive()
        is_told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return told
