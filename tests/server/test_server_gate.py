"""The gate that every request passes: size, time, headers; and what every answer carries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import Request
from gated_server import HOST, ME, MOST_BYTES, PAGE, PORT, THINGS, Gated, asked, code_of


@pytest.fixture
def gated(tmp_path: Path) -> Gated:
    return Gated(tmp_path)


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(gated: Gated) -> None:
    bearer = f"Bearer {await gated.token()}"
    async with gated.client(authorization=bearer) as client:
        assert (await client.post(THINGS, content=b"x" * MOST_BYTES)).json()["bytes"] == MOST_BYTES
        answer = await client.post(THINGS, content=b"x" * (MOST_BYTES + 1))
        assert code_of(answer) == (413, "too_large")
        assert answer.headers["connection"] == "close"
        for told in ("-1", "1e3", "٣", "9" * 5_000):
            header = {b"content-length": told.encode()}
            assert (await client.post(THINGS, headers=header, content=b"")).status_code == 413


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


async def test_a_body_that_does_not_say_how_large_it_is_is_counted(gated: Gated) -> None:
    async with gated.client(authorization=f"Bearer {await gated.token()}") as client:
        assert (await client.post(THINGS, content=pieces(b"a", b"b", b"c"))).json()["bytes"] == 3
        answer = await client.post(THINGS, content=pieces(*[b"x" * 1_000] * 11))
    assert code_of(answer) == (413, "too_large")


async def test_nothing_large_is_read_for_somebody_who_is_not_known(gated: Gated) -> None:
    async with gated.client() as stranger:
        assert (await stranger.post("/nowhere", content=b"x" * 4_096)).status_code == 404
        assert code_of(await stranger.post("/nowhere", content=b"x" * 4_097)) == (401, "access_denied")
        assert code_of(await stranger.post("/nowhere", content=pieces(b"x"))) == (401, "access_denied")


async def test_whoever_waits_for_more_than_the_body_hears_that_the_caller_has_gone(gated: Gated) -> None:
    heard: list[str] = []

    @gated.asgi.post("/waits")
    async def wait(request: Request) -> None:  # pyright: ignore[reportUnusedFunction] - a route
        heard.extend([(await request.receive())["type"] for _ in range(2)])

    messages = [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: Any) -> None:
        pass

    await gated.asgi(scope_of(gated, path="/waits", raw_path=b"/waits"), receive, send)
    assert heard == ["http.request", "http.disconnect"]


def scope_of(gated: Gated, **more: Any) -> dict[str, Any]:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": THINGS,
        "raw_path": THINGS.encode(),
        "query_string": b"",
        "headers": [(b"host", HOST.encode())],
        "app": gated.asgi,
        **more,
    }


async def test_a_body_that_comes_too_slowly_is_given_up(gated: Gated) -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    await gated.asgi(scope_of(gated), receive, send)
    assert sent[0]["status"] == 408
    assert b"too_slow" in sent[1]["body"]


async def test_one_who_goes_away_in_the_middle_of_a_body_is_answered_nothing(gated: Gated) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await gated.asgi(scope_of(gated), receive, send)
    assert sent == []


async def test_websockets_are_closed(gated: Gated) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await gated.asgi(scope_of(gated, type="websocket"), receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("name", ["host", "origin", "authorization", "x-endstop-key", "content-type"])
async def test_a_header_that_is_there_twice_is_refused(gated: Gated, name: str) -> None:
    token = await gated.token()
    value = {"host": HOST, "origin": PAGE, "authorization": f"Bearer {token}"}.get(name, "application/json")
    headers = [("host", HOST), (name, value), (name, value)]
    request = httpx.Request("POST", f"{PAGE}{THINGS}", headers=headers)
    async with gated.client() as client:
        answer = await client.send(request)
    assert code_of(answer) == (400, "bad_request")


async def test_every_answer_has_the_headers_that_keep_browsers_from_harm(gated: Gated) -> None:
    for path, status in (("/", 200), (ME, 401), ("/nowhere", 404), ("/?token=x", 401)):
        answer = await asked(gated, path=path)
        assert answer.status_code == status
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "'unsafe-eval'" not in answer.headers["content-security-policy"]
    assert (await asked(gated)).headers["cache-control"] == "no-store"


async def test_a_store_that_fails_is_told_as_such_and_lets_nobody_in(gated: Gated) -> None:
    page, link = await gated.page(), gated.access.one_time_link(PORT)
    await gated.store.close()
    assert code_of(await asked(gated, page=page)) == (503, "store_failed")
    assert code_of(await asked(gated, path=link)) == (503, "store_failed")
