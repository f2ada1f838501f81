"""Errors as answers: a code, what happened, what is allowed, what to do (I7). One shape for all of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endstop.errors import (
    AccessError,
    EndstopError,
    ForbiddenError,
    InvalidValueError,
    LedgerError,
    ModelAccessError,
    ModelError,
    ModelRefusedError,
    NewerFactError,
    PolicyError,
    PriceUnknownError,
    RecordTakenError,
    RepositoryError,
    RequestError,
    RequestTooLargeError,
    RequestTooSlowError,
    RunStateError,
    StoreError,
    TooManyError,
    TreeError,
    UnboundedError,
    UnknownConversationError,
    UnknownFactError,
    UnknownModelError,
    UnknownRunError,
    UnknownTokenError,
    UnknownTreeError,
    brief,
)

_log = logging.getLogger("endstop.server")

_STATUS_OF_KIND: tuple[tuple[type[EndstopError], int], ...] = (
    (ForbiddenError, 403),
    (AccessError, 401),
    (RequestTooLargeError, 413),
    (RequestTooSlowError, 408),
    (RequestError, 400),
    (TooManyError, 429),
    (UnknownRunError, 404),
    (UnknownConversationError, 404),
    (UnknownTreeError, 404),
    (UnknownTokenError, 404),
    (RunStateError, 409),
    (RecordTakenError, 409),
    (RepositoryError, 409),
    (StoreError, 503),
    (NewerFactError, 503),  # until this server is updated, too
    (UnknownFactError, 503),
    (InvalidValueError, 422),
    (UnboundedError, 422),
    (LedgerError, 422),
    (PriceUnknownError, 422),
    (PolicyError, 422),
    (TreeError, 422),
    (UnknownModelError, 422),
    (ModelAccessError, 422),
    (ModelRefusedError, 422),
    (ModelError, 503),
)
"""The first that fits counts. What is not here has no business in a request: it is a fault of ours."""

_MEANING = {
    401: "Nobody knows who asks: no valid token or cookie came along.",
    403: "It is known who asks, and this they may not do, or not from there.",
    404: "There is no such thing, or it is not yours.",
    408: "The body of the request came too slowly.",
    409: "It is not in a state for this.",
    413: "The body of the request is too large.",
    422: "A value is not what is allowed; nothing was changed.",
    429: "Too many at once or in too short a time: `Retry-After` says when to come back.",
    503: "The database, or a model, cannot be reached just now.",
}
_CODE_OF_STATUS = {
    400: "bad_request",
    401: "access_denied",
    403: "access_forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    413: "too_large",
    429: "too_many",
}


class ProblemDetail(BaseModel):
    """What went wrong."""

    code: str = Field(description="Stable; for programs to go by.", examples=["unknown_run"])
    what: str = Field(description="What happened.", examples=["There is no run 'run_0'"])
    allowed: str = Field(default="", description="What would have been allowed.")
    to_do: str = Field(default="", description="What to do next.")
    field: str | None = Field(default=None, description="Which value is wrong, where one is.")
    value: Any = Field(default=None, description="What it was.")
    bounds: dict[str, Any] | None = Field(default=None, description="What it may be, where that is numbers.")


class Problem(BaseModel):
    """Every error, whatever went wrong."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "error": {
                    "code": "unknown_run",
                    "what": "There is no run 'run_0'",
                    "allowed": "",
                    "to_do": "List the runs there are",
                }
            }
        }
    )

    error: ProblemDetail


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For ``responses=`` of a route: these errors, and those that any route may answer with."""
    return {
        status: {"model": Problem, "description": _MEANING.get(status, "An error.")}
        for status in sorted({401, 403, 503, *statuses})
    }


def install_problems(app: FastAPI) -> None:
    """Every error leaves the server in one shape, and none with a traceback."""
    app.add_exception_handler(EndstopError, _on_our_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_middleware(_LastResort)


class SafeJson(JSONResponse):
    """JSON in ASCII: models and tools say things that no UTF-8 can carry, such as half a character."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def problem(
    status: int, detail: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as an answer."""
    return SafeJson({"error": dict(detail)}, status_code=status, headers=dict(headers or {}))


def problem_of(error: EndstopError) -> JSONResponse:
    """An error of ours as an answer."""
    detail: dict[str, object] = {
        "code": error.code,
        "what": error.what,
        "allowed": error.allowed,
        "to_do": error.to_do,
    }
    if isinstance(error, InvalidValueError):
        detail["field"] = error.field
        detail["value"] = _plain(error.value)
    bounds = getattr(error, "bounds", None)
    if bounds:
        detail["bounds"] = bounds
    problems: Sequence[object] = getattr(error, "problems", ())  # all that is wrong with a tree or a policy
    if problems:
        detail["problems"] = [str(problem) for problem in problems]
    retry_after_s = getattr(error, "retry_after_s", None)
    headers = {} if retry_after_s is None else {"Retry-After": str(max(ceil(retry_after_s), 1))}
    return problem(status_of(error), detail, headers)


def status_of(error: EndstopError) -> int:
    """The status that an error of ours is answered with."""
    return next((status for kind, status in _STATUS_OF_KIND if isinstance(error, kind)), 500)


async def _on_our_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, EndstopError), "it is registered for these"
    if status_of(error) >= 500:
        _log.error("%s: %s", error.code, error.what)
    return problem_of(error)


async def _on_invalid(_: Request, error: Exception) -> JSONResponse:
    """What pydantic says of a request, in our words. The first problem will do: mend it, and ask again."""
    assert isinstance(error, RequestValidationError), "it is registered for these"
    first = cast("Sequence[dict[str, Any]]", error.errors())[0]
    field = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    detail: dict[str, object] = {
        "code": InvalidValueError.code,
        "what": f"{field}: {first['msg']}",
        "allowed": str(first["msg"]),
        "to_do": "Mend it and ask again; nothing was changed",
        "field": field,
        "value": _plain(first.get("input")),
    }
    bounds = {
        name: limit
        for name, limit in cast("dict[str, object]", first.get("ctx") or {}).items()
        if isinstance(limit, int | float | str) and name != "error"
    }
    if bounds:
        detail["bounds"] = bounds
    return problem(422, detail)


async def _on_http_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException), "it is registered for these"
    status = error.status_code
    to_do = "The interface is described at /openapi.json" if status in (404, 405) else ""
    detail = {
        "code": _CODE_OF_STATUS.get(status, f"http_{status}"),
        "what": str(error.detail),
        "allowed": "",
        "to_do": to_do,
    }
    return problem(status, detail, error.headers)


class _LastResort:
    """Answers 500 for what nobody foresaw. The log gets its kind and place: its words may be a user's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:  # noqa: BLE001 - the last resort
            _log.error("A request failed with %s at %s", type(error).__name__, _place_of(error))
            if has_begun:  # the connection is broken off; whoever streams comes back with the last id
                raise ConnectionAbortedError("An answer broke off in the middle") from None
            detail = {
                "code": "internal_error",
                "what": "The server failed at this request",
                "allowed": "",
                "to_do": "Try again; if it stays so, its log says where it failed",
            }
            await problem(500, detail)(scope, receive, send)


def _place_of(error: BaseException) -> str:
    """The innermost line it came from."""
    trace = error.__traceback__
    assert trace is not None, "it was raised"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"


_MOST_CHARS = 200


def _plain(value: object) -> object:
    """A value as JSON can carry it, and short: it is the caller's own, and may be anything."""
    if value is None or isinstance(value, bool | int | float | str):
        try:
            text = json.dumps(value, allow_nan=False)
        except ValueError:  # not a number
            return brief(value)
        return value if len(text) <= _MOST_CHARS else brief(value, most=_MOST_CHARS)
    return brief(value, most=_MOST_CHARS)
