"""Tokens in the page: made, listed, revoked, each by its own user, and never by a token (I6)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from small_server import PORT, SmallServer, client_of, small_server

from endstop.ports import StoredUser
from endstop.server.links import SignedIn
from endstop.server.tokens import hashed, new_token

TOKENS = "/api/tokens"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[SmallServer]:
    async with small_server(tmp_path) as one:
        yield one


def browser_of(server: SmallServer, page: SignedIn) -> httpx.AsyncClient:
    client = client_of(server.asgi, None)
    client.headers["cookie"] = f"{server.access.cookie_name}={page.cookie}"
    client.headers["x-endstop-key"] = page.key
    client.headers["origin"] = f"http://127.0.0.1:{PORT}"
    return client


@pytest.fixture
async def owner(server: SmallServer) -> AsyncGenerator[httpx.AsyncClient]:
    """Whoever has opened the link."""
    page = await server.access.redeem_link(server.access.one_time_link(PORT).partition("token=")[2])
    assert page is not None
    async with browser_of(server, page) as browser:
        yield browser


async def token_of(server: SmallServer, user: str, *, days: int = 90, now: float = 2e9) -> tuple[str, str]:
    """A token that is kept: its id, and itself."""
    await server.store.add_user(StoredUser(name=user, added_at=now))
    made = new_token(user, days=days, now=now)
    await server.store.add_token(made.stored)
    return made.stored.id, made.secret


@pytest.mark.guarantee("I6")
async def test_a_token_is_shown_once_and_works(server: SmallServer, owner: httpx.AsyncClient) -> None:
    answer = await owner.post(TOKENS, json={"name": "laptop", "days": 30})
    made: dict[str, Any] = answer.json()
    assert (answer.status_code, made["name"], made["state"]) == (201, "laptop", "good")
    created, expires = (datetime.fromisoformat(made[name]) for name in ("created_at", "expires_at"))
    assert (expires - created).days == 30
    async with client_of(server.asgi, made["token"]) as program:
        assert (await program.get("/api/session")).json() == {"user": server.config.user, "via": "token"}
    listed = await owner.get(TOKENS)
    assert [one["id"] for one in listed.json()] == [made["id"]]
    for secret in (made["token"], hashed(made["token"])):
        assert secret not in listed.text
    assert listed.json()[0]["used_at"] is not None


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 201),
        ({"days": 1}, 201),
        ({"days": 3_650}, 201),
        ({"name": "x" * 100}, 201),
        ({"days": 0}, 422),
        ({"days": -1}, 422),
        ({"days": 3_651}, 422),
        ({"days": 1.5}, 422),
        ({"days": True}, 422),
        ({"days": "7"}, 422),
        ({"name": "x" * 101}, 422),
        ({"name": "two\nlines"}, 422),
        ({"name": None}, 422),
        ({"user": "bob"}, 422),
    ],
)
async def test_what_a_token_may_be_is_bounded(
    server: SmallServer, owner: httpx.AsyncClient, body: dict[str, object], status: int
) -> None:
    answer = await owner.post(TOKENS, json=body)
    assert answer.status_code == status, answer.text
    assert len(await server.store.tokens()) == (1 if status == 201 else 0)


async def test_tokens_that_are_good_no_more_say_why(server: SmallServer, owner: httpx.AsyncClient) -> None:
    user = server.config.user
    expired, _ = await token_of(server, user, days=1, now=1e9)
    revoked, _ = await token_of(server, user)
    good, _ = await token_of(server, user)
    await server.store.revoke_token(revoked, at=2e9)
    found = {one["id"]: one["state"] for one in (await owner.get(TOKENS)).json()}
    assert found == {expired: "expired", revoked: "revoked", good: "good"}


@pytest.mark.guarantee("I6")
async def test_a_token_of_somebody_else_looks_like_one_that_is_not_there(
    server: SmallServer, owner: httpx.AsyncClient
) -> None:
    theirs, _ = await token_of(server, "bob")
    assert (await owner.get(TOKENS)).json() == []
    refused, none = [await owner.delete(f"{TOKENS}/{name}") for name in (theirs, "token_0")]
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "unknown_token")
    assert refused.text.replace(theirs, "ID") == none.text.replace("token_0", "ID")
    (kept,) = await server.store.tokens()
    assert kept.revoked_at is None


async def test_a_token_that_is_revoked_is_kept_to_be_seen_and_lets_nobody_in(
    server: SmallServer, owner: httpx.AsyncClient
) -> None:
    made = (await owner.post(TOKENS, json={})).json()
    for _ in range(2):
        assert (await owner.delete(f"{TOKENS}/{made['id']}")).status_code == 204
    assert (await owner.get(TOKENS)).json()[0]["state"] == "revoked"
    async with client_of(server.asgi, made["token"]) as program:
        assert (await program.get("/api/session")).status_code == 401


CALLS = [("GET", TOKENS), ("POST", TOKENS), ("DELETE", f"{TOKENS}/token_0")]


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_a_token_can_do_nothing_with_tokens(server: SmallServer, method: str, path: str) -> None:
    _, secret = await token_of(server, "bob")
    async with client_of(server.asgi, secret) as program:
        answer = await program.request(method, path, json={} if method == "POST" else None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "access_forbidden")
    assert len(await server.store.tokens()) == 1


@pytest.mark.guarantee("I6")
async def test_a_token_that_leaked_makes_no_others_by_signing_in_either(server: SmallServer) -> None:
    own, secret = await token_of(server, "bob")
    async with browser_of(server, await server.access.sign_in(secret)) as browser:
        refused = await browser.post(TOKENS, json={})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "access_forbidden")
        assert "endstop tokens create --user bob" in refused.json()["error"]["to_do"]
        assert [one["id"] for one in (await browser.get(TOKENS)).json()] == [own]
        assert (await browser.delete(f"{TOKENS}/{own}")).status_code == 204


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_nobody_can_do_anything_with_tokens(server: SmallServer, method: str, path: str) -> None:
    answer = await server.nobody.request(method, path, json={} if method == "POST" else None)
    assert answer.status_code == 401
