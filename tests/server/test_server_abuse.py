"""Bad input and abuse, for every operation that the server describes: refused in one shape, never a 500."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
from small_server import SmallServer, small_server

from endstop.app import make_agent
from endstop.kernel.budget import Budget
from endstop.loop.agent import Agent
from endstop.server.questions import Wanted
from endstop.server.rate import QueryLimits
from endstop.testing import ScriptedModel

FILE = Path(__file__).parents[2] / "schemas" / "openapi.json"
DESCRIPTION: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
OPERATIONS = [(method.upper(), path) for path, methods in DESCRIPTION["paths"].items() for method in methods]
CLOSED = [
    (method, path) for method, path in OPERATIONS if "security" in DESCRIPTION["paths"][path][method.lower()]
]
WITH_BODY = [
    (method, path)
    for method, path in OPERATIONS
    if "requestBody" in DESCRIPTION["paths"][path][method.lower()]
]
OWNED = [(method, path) for method, path in CLOSED if "{run_id}" in path or "{conversation_id}" in path]
BODIES: dict[str, dict[str, object]] = {
    "/api/runs/{run_id}/answer": {"answer": "yes"},
    "/api/reviews/{run_id}/{review_id}/decide": {"decision": "rejected"},
    "/api/coding/{run_id}/restore": {"round": 1},
}
JSON = {"content-type": "application/json"}


def scripted(wanted: Wanted) -> Agent:
    return make_agent(model=ScriptedModel("Here it is."), budget=Budget(turns=5), name="scripted")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[SmallServer]:
    async with small_server(tmp_path, make_agent=scripted) as made:
        yield made


def filled(path: str, **names: str) -> str:
    """A path with names in its places."""
    usual = {"run_id": "r", "review_id": "v", "conversation_id": "c", "name": "n", "token_id": "t"}
    return path.format(**usual | names)


def named(operations: list[tuple[str, str]]) -> list[str]:
    return [f"{method} {path}" for method, path in operations]


def assert_refused(answer: httpx.Response, *statuses: int) -> None:
    assert answer.status_code in statuses, answer.text
    assert {"code", "what", "allowed", "to_do"} <= set(answer.json()["error"])
    assert "Traceback" not in answer.text


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize(("method", "path"), CLOSED, ids=named(CLOSED))
async def test_nobody_gets_in_anywhere(server: SmallServer, method: str, path: str) -> None:
    assert_refused(await server.nobody.request(method, filled(path), json={}), 401)
    forged = {"Authorization": "Bearer es_" + "A" * 43}
    assert_refused(await server.nobody.request(method, filled(path), json={}, headers=forged), 401)


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize(("method", "path"), OWNED, ids=named(OWNED))
async def test_what_is_anothers_looks_like_what_is_not_there(
    server: SmallServer, method: str, path: str
) -> None:
    asked = await server.me.post("/api/oracle/query", json={"query": "why?"})
    run_id, conversation_id = asked.headers["x-run-id"], asked.headers["x-conversation-id"]
    body = BODIES.get(path, {"after_run": run_id} if path.endswith("/branch") else None)
    theirs = await server.other.request(
        method, filled(path, run_id=run_id, conversation_id=conversation_id), json=body
    )
    nobodys = await server.other.request(
        method, filled(path, run_id="run_0", conversation_id="conv_0"), json=body
    )
    assert_refused(theirs, 404)
    words = theirs.text.replace(run_id, "run_0").replace(conversation_id, "conv_0")
    assert words == nobodys.text
    assert (await server.me.get(f"/api/runs/{run_id}")).json()["outcome"] == "completed"


HOSTILE = {
    "nothing": b"",
    "half": b'{"query": ',
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "a long number": b'{"query": ' + b"9" * 5_000 + b"}",
    "not a number": b'{"query": NaN, "limits": {"max_iterations": Infinity}}',
    "bytes": bytes(range(256)),
    "nulls": b'{"query": null, "text": null, "answer": null, "decision": null, "after_run": null}',
    "a list": b"[1, 2, 3]",
    "true": b"true",
    "twice": b'{"query": 1, "query": [], "text": 7, "answer": {}}',
    "many names": json.dumps({f"name{n}": n for n in range(20_000)}).encode(),
}


@pytest.mark.parametrize(("method", "path"), WITH_BODY, ids=named(WITH_BODY))
async def test_hostile_bodies_are_refused_and_the_server_lives_on(
    server: SmallServer, method: str, path: str
) -> None:
    for name, body in HOSTILE.items():
        answer = await server.me.request(method, filled(path), content=body, headers=JSON)
        assert answer.status_code < 500, f"{name}: {answer.text}"
        if answer.status_code >= 400:
            assert_refused(answer, 400, 401, 403, 404, 413, 422)
        assert (await server.nobody.get("/healthz")).status_code == 200, name


@pytest.mark.parametrize(("method", "path"), WITH_BODY, ids=named(WITH_BODY))
async def test_half_a_character_is_no_reason_to_fail(server: SmallServer, method: str, path: str) -> None:
    for body in (
        b'{"\\ud800": 1}',
        b'{"query": "\\ud800", "text": "\\udfff", "answer": "\\ud800"}',
        b'"\\ud800"',
    ):
        answer = await server.me.request(method, filled(path), content=body, headers=JSON)
        assert answer.status_code < 500, answer.text


@pytest.mark.parametrize(("method", "path"), WITH_BODY, ids=named(WITH_BODY))
async def test_a_body_that_is_too_large_is_refused_before_it_is_read(
    server: SmallServer, method: str, path: str
) -> None:
    large = b'{"query": "' + b"x" * 1_100_000 + b'"}'
    assert_refused(await server.me.request(method, filled(path), content=large, headers=JSON), 413)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
@pytest.mark.parametrize(("method", "path"), WITH_BODY, ids=named(WITH_BODY))
async def test_what_a_page_of_somebody_elses_can_send_without_asking_is_not_taken(
    server: SmallServer, method: str, path: str, kind: str
) -> None:
    """A form can be sent across sites; JSON cannot."""
    body = b'{"max_iterations": 3, "query": "why?", "text": "", "token": "x"}'
    answer = await server.me.request(method, filled(path), content=body, headers={"content-type": kind})
    assert answer.status_code >= 400


@pytest.mark.parametrize("path", sorted(DESCRIPTION["paths"]))
async def test_a_method_that_is_not_there_is_refused_in_the_same_shape(
    server: SmallServer, path: str
) -> None:
    for method in ("PATCH", "TRACE", "FROB"):
        assert_refused(await server.me.request(method, filled(path)), 405)


@pytest.mark.parametrize(
    "path",
    [
        "/assets/nowhere",
        "/api",
        "/api/",
        "/api/runs/..%2f..%2fetc/passwd",
        "/api//runs",
        "/%00",
        "/api/runs/%2e%2e",
    ],
)
async def test_a_path_that_is_not_there_is_refused_in_the_same_shape(server: SmallServer, path: str) -> None:
    assert_refused(await server.me.get(path), 404)


async def test_a_flood_of_questions_is_limited_for_its_user_alone(tmp_path: Path) -> None:
    limits = QueryLimits(per_minute=3, at_once=100)
    async with small_server(tmp_path, make_agent=scripted, limits=limits) as server:
        answers = await asyncio.gather(
            *(server.me.post("/api/oracle/query", json={"query": "why?"}) for _ in range(10))
        )
        refused = [answer for answer in answers if answer.status_code != 200]
        assert len(refused) == 7
        for answer in refused:
            assert_refused(answer, 429)
            assert int(answer.headers["retry-after"]) >= 1
        assert (await server.other.post("/api/oracle/query", json={"query": "why?"})).status_code == 200
        assert (await server.me.get("/api/runs")).status_code == 200
