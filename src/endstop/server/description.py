"""The description of the interface (OpenAPI), made complete: who may call, and the shape of every error.

FastAPI describes what each route says of itself. What holds for all of them is put in here, once: errors are
JSON of one shape also where the answer is a stream, and what the gate refuses before a route is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI

from endstop.server.problems import problem_responses

ANYWHERE = (400, 403, 408, 413)
"""What any request may be answered with, whatever route it is for."""

_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_NOT_OURS = ("HTTPValidationError", "ValidationError")
"""How FastAPI would describe a bad value; ours are described by ``Problem``."""

_EVENTS = "text/event-stream"
_EVENT = {
    "type": "object",
    "description": "One event of the stream.",
    "required": ["data"],
    "properties": {
        "id": {"type": "string", "description": "Send the last one as `Last-Event-ID` to go on behind it."},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"type": "string", "examples": ["content", "done"]}},
            },
        },
    },
}
"""A stream is described by what each of its events is."""

_SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "For programs: a token of `endstop tokens create`.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "endstop",
        "description": "For the page: from the link that `endstop serve` prints, or `POST /api/session`. The "
        "name of the cookie has the port behind it where there is no proxy.",
    },
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Endstop-Key",
        "description": "The cookie's other half: browsers send cookies to every port, and this to none.",
    },
}
_OPEN = frozenset({("post", "/api/session")})
"""What is called to become known."""


def describe(server: FastAPI) -> FastAPI:
    """Have the server give its whole description."""
    plain = server.openapi

    def whole() -> dict[str, Any]:
        described = plain()
        if "securitySchemes" not in described["components"]:
            _complete(described)
        return described

    server.openapi = whole
    return server


def _complete(described: dict[str, Any]) -> None:
    for method, path, operation in _operations(described):
        answers = cast("dict[str, Any]", operation["responses"])
        for status, answer in problem_responses(*ANYWHERE).items():
            if status in ANYWHERE:
                answers.setdefault(str(status), {"description": answer["description"]})
        for status, answer in answers.items():
            if int(status) >= HTTPStatus.BAD_REQUEST:
                answer["content"] = _PROBLEM
            elif _EVENTS in answer.get("content", {}):
                answer["content"][_EVENTS]["schema"] = _EVENT
        operation["responses"] = dict(sorted(answers.items()))
        if path.startswith("/api") and (method, path) not in _OPEN:
            operation["security"] = [{"token": []}, {"cookie": [], "key": []}]
    for name in _NOT_OURS:
        described["components"]["schemas"].pop(name, None)
    described["components"]["securitySchemes"] = _SCHEMES


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation
