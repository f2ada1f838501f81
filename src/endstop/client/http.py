"""What both clients know of HTTP: how to connect, and how to read an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from endstop.client.failures import error_of
from endstop.errors import EndstopError, InvalidValueError

TIMEOUT_S = 30.0
"""For an answer that comes whole."""

SILENCE_S = 60.0
"""A stream says every 15 seconds that it is alive: one that is silent for so long is not."""

STREAM_TIMEOUT = httpx.Timeout(TIMEOUT_S, read=SILENCE_S)

RUN_ID_HEADER = "x-run-id"

_MAY_PASS = frozenset({502, 503, 504})
"""A server that starts again, or the proxy before it, answers so for a moment."""

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def options_of(base_url: str, token: str | None) -> dict[str, Any]:
    """How a client connects. No proxy is asked the way to this machine."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidValueError("base_url", base_url, allowed="an address such as http://127.0.0.1:8765")
    return {
        "base_url": base_url,
        "headers": {} if token is None else {"Authorization": f"Bearer {token}"},
        "timeout": TIMEOUT_S,
        "trust_env": parts.hostname not in _LOOPBACK,
    }


def document_of(response: httpx.Response) -> Any:
    """What an answer says; the error it tells of is raised."""
    document = _json(response)
    if not response.is_success:
        raise error_of(response.status_code, document)
    if document is None and response.content:
        raise error_of(response.status_code, None)
    return document


def refusal_of(response: httpx.Response) -> EndstopError:
    """The error of an answer that was to be a stream, and is none. It has been read."""
    return error_of(response.status_code, _json(response))


def is_stream(response: httpx.Response) -> bool:
    return response.is_success and response.headers.get("content-type", "").startswith("text/event-stream")


def may_pass(response: httpx.Response) -> bool:
    """Whether the same request may be answered a moment later."""
    return response.status_code in _MAY_PASS


def run_id_of(headers: Mapping[str, str]) -> str | None:
    return headers.get(RUN_ID_HEADER)


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
