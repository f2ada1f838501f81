"""Errors as answers: one shape, the right status, no traceback, nobody's words in the log (I7)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from math import inf, nan
from pathlib import Path
from typing import Any

import httpx
import pytest
from chat_server import chat_server
from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse

from endstop import errors
from endstop.server.problems import install_problems, problem_of, problem_responses, status_of

SECRET = "the user's own words"


async def answer_to(error: BaseException) -> httpx.Response:
    """What a route that raises is answered with."""
    app = FastAPI()

    @app.get("/")
    async def route() -> None:  # pyright: ignore[reportUnusedFunction]
        raise error

    install_problems(app)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
        return await client.get("/")


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.UnknownRunError("x"), 404),
        (errors.UnknownConversationError("x"), 404),
        (errors.UnknownTreeError("x"), 404),
        (errors.RunStateError("x"), 409),
        (errors.RecordTakenError("x"), 409),
        (errors.InvalidValueError("turns", 0, allowed="1 or more"), 422),
        (errors.GrantRefusedError("x"), 422),
        (errors.PriceUnknownError("x"), 422),
        (errors.UnboundedError("x"), 422),
        (errors.UnknownModelError("x"), 422),
        (errors.ModelAccessError("x"), 422),
        (errors.TreeError("x"), 422),
        (errors.ModelUnreachableError("x"), 503),
        (errors.StoreError("x"), 503),
        (errors.AccessError("x"), 401),
        (errors.ForbiddenError("x"), 403),
        (errors.RequestTooLargeError("x"), 413),
        (errors.TooManyError("x", retry_after_s=0.2), 429),
        (errors.MalformedFactError("x"), 500),
        (errors.EndstopError("x"), 500),
    ],
)
async def test_every_error_of_ours_has_its_status(error: errors.EndstopError, status: int) -> None:
    answer = await answer_to(error)
    assert (answer.status_code, status_of(error)) == (status, status)
    told = answer.json()["error"]
    assert (told["code"], told["what"]) == (error.code, error.what)
    assert {"allowed", "to_do"} <= told.keys()


async def test_too_many_says_when_to_come_back() -> None:
    answer = await answer_to(errors.TooManyError("x", retry_after_s=2.1))
    assert answer.headers["retry-after"] == "3"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (5, 5),
        (True, True),
        (None, None),
        ("text", "text"),
        (nan, "nan"),
        (inf, "inf"),
        ("x" * 500, "'" + "x" * 196 + "..."),
        ({"a": 1}, "{'a': 1}"),
        ("half \ud800", "half \ud800"),
    ],
)
async def test_a_wrong_value_is_named_and_shown_in_short(value: object, shown: object) -> None:
    answer = await answer_to(errors.InvalidValueError("turns", value, allowed="1 or more"))
    told = answer.json()["error"]
    assert (told["field"], told["value"], told["allowed"]) == ("turns", shown, "1 or more")


async def test_a_tree_is_refused_with_all_its_problems_and_a_bound_with_its_numbers() -> None:
    error = errors.TreeError("x", problems=("line 1", "line 2"))
    vars(error)["bounds"] = {"smallest": 1}
    told = (await answer_to(error)).json()["error"]
    assert (told["problems"], told["bounds"]) == (["line 1", "line 2"], {"smallest": 1})


async def test_what_nobody_foresaw_is_answered_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    answer = await answer_to(ZeroDivisionError(SECRET))
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert SECRET not in answer.text + caplog.text
    assert "Traceback" not in answer.text + caplog.text
    assert "ZeroDivisionError at test_server_problems:" in caplog.text


async def test_an_answer_that_breaks_off_says_nobodys_words(caplog: pytest.LogCaptureFixture) -> None:
    app = FastAPI()

    async def broken() -> AsyncIterator[bytes]:
        yield b"begun"
        raise ZeroDivisionError(SECRET)

    @app.get("/")
    async def route() -> StreamingResponse:  # pyright: ignore[reportUnusedFunction]
        return StreamingResponse(broken())

    install_problems(app)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
        with pytest.raises(ConnectionAbortedError) as raised:
            await client.get("/")
    assert raised.value.__cause__ is None
    assert SECRET not in caplog.text


async def test_what_the_framework_refuses_has_the_same_shape() -> None:
    told = await answer_to(HTTPException(418, "no coffee", headers={"X-Pot": "tea"}))
    assert (told.status_code, told.headers["x-pot"]) == (418, "tea")
    assert told.json()["error"] == {"code": "http_418", "what": "no coffee", "allowed": "", "to_do": ""}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nowhere", 404, "not_found"),
        ("DELETE", "/api/runs", 405, "method_not_allowed"),
        ("POST", "/docs", 404, "not_found"),
    ],
)
async def test_unknown_routes_and_methods_are_told(
    tmp_path: Path, method: str, path: str, status: int, code: str
) -> None:
    async with chat_server(tmp_path) as server:
        answer = await server.me.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '"x"', '{"query": 1e999}', "\x00", '{"query": NaN}'])
async def test_a_body_that_is_no_question_is_refused(tmp_path: Path, body: str) -> None:
    async with chat_server(tmp_path) as server:
        answer = await server.me.post(
            "/api/oracle/query", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["code"] == "invalid_value"


async def test_a_body_that_is_too_deep_to_read_is_refused(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        answer = await server.me.post(
            "/api/oracle/query", content="[" * 5_000, headers={"Content-Type": "application/json"}
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


async def test_bounds_of_a_parameter_are_told_as_numbers(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        told: Any = (await server.me.get("/api/runs", params={"limit": 500})).json()["error"]
        assert (told["field"], told["value"], told["bounds"]) == ("limit", "500", {"le": 200})


async def test_nothing_of_a_question_or_an_answer_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="endstop")
    async with chat_server(tmp_path) as server:
        await server.asked(SECRET)
        await server.me.post("/api/oracle/query", json={"query": SECRET, "beside": SECRET})
    assert SECRET not in caplog.text
    assert "login.py" not in caplog.text


def test_routes_document_the_errors_that_any_of_them_may_answer_with() -> None:
    documented = problem_responses(404, 418)
    assert list(documented) == [401, 403, 404, 418, 503]
    assert all(each["model"].__name__ == "Problem" for each in documented.values())


def test_an_error_of_ours_is_an_answer_anywhere() -> None:
    assert problem_of(errors.StoreError("locked")).status_code == 503
