"""A stream lasts as long as its caller may come in: a token or session that is ended cuts it (I6)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from endstop.errors import StoreError
from endstop.ports import StoredToken, StoredUser
from endstop.server.access import Caller
from endstop.server.lasting import Lasting
from endstop.server.tokens import new_token
from endstop.testing import MemoryStore
from served import Served, served

STREAM = "/api/notifications/stream"
"""It never ends by itself."""
WITHIN_S = 3.0
"""Two seconds are promised; the rest is for a machine that is busy."""
ANA = Caller(user="ana", via="token", hashed="h")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("home")) as one:
        yield one


def kept_token(server: Served) -> tuple[str, str]:
    """A token of ana's: its id, and itself."""
    now = time.time()
    made = new_token("ana", now=now)

    async def keep() -> None:
        await server.store.add_user(StoredUser(name="ana", added_at=now))
        await server.store.add_token(made.stored)

    asyncio.run(keep())
    return made.stored.id, made.secret


class Listening:
    """A client that listens to a stream for as long as it lasts."""

    def __init__(self, server: Served, headers: dict[str, str]) -> None:
        self._client = httpx.Client(base_url=server.url, headers=headers, timeout=20)
        self._has_begun = threading.Event()
        self.failed: Exception | None = None
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        assert self._has_begun.wait(10)

    def _listen(self) -> None:
        try:
            with self._client, self._client.stream("GET", STREAM) as answer:
                assert answer.status_code == 200
                for _ in answer.iter_bytes():
                    self._has_begun.set()
        except Exception as error:  # noqa: BLE001 - looked at by the test
            self.failed = error

    def has_ended(self, within_s: float) -> bool:
        self._thread.join(within_s)
        return not self._thread.is_alive()


@pytest.mark.guarantee("I6")
def test_a_token_that_is_revoked_cuts_its_streams_and_no_others(server: Served) -> None:
    token_id, secret = kept_token(server)
    _, another = kept_token(server)
    revoked = Listening(server, {"Authorization": f"Bearer {secret}"})
    others = Listening(server, {"Authorization": f"Bearer {another}"})
    assert not revoked.has_ended(1.5)
    asyncio.run(server.store.revoke_token(token_id, at=time.time()))
    assert revoked.has_ended(WITHIN_S)
    assert revoked.failed is None  # it ended as a stream does, and the client sees why when it comes back
    assert not others.has_ended(1.5)
    asyncio.run(server.store.remove_user("ana"))
    assert others.has_ended(WITHIN_S)


@pytest.mark.guarantee("I6")
def test_a_browser_that_signs_out_hears_no_more(server: Served) -> None:
    port = int(server.url.rpartition(":")[2])
    opened = httpx.get(server.access.one_time_link(port))
    headers = {
        "Cookie": opened.headers["set-cookie"].partition(";")[0],
        "X-Endstop-Key": opened.headers["location"].removeprefix("/#key="),
        "Origin": server.url,
    }
    stream = Listening(server, headers)
    assert httpx.delete(f"{server.url}/api/session", headers=headers).status_code == 204
    assert stream.has_ended(WITHIN_S)
    assert stream.failed is None


# ── without a server, for what seldom happens ─────────────────────────────────────────────────────────────

START: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream; charset=utf-8")],
}
LAST: Message = {"type": "http.response.body", "body": b"", "more_body": False}


async def no_receive() -> Message:
    raise AssertionError("nobody asks")


class Knows:
    """Answers whether a caller is known, one answer after the other; the last one stays."""

    def __init__(self, *answers: bool | Exception) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def __call__(self, caller: Caller) -> bool:
        assert caller is ANA
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    await send(START)
    await asyncio.Event().wait()


async def lasted(app: Any, knows: Knows, *, caller: Caller | None = ANA, send: Any = None) -> list[Message]:
    """What was sent."""
    sent: list[Message] = []

    async def kept(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "state": {} if caller is None else {"caller": caller}}
    await Lasting(app, knows, look_every_s=0.01)(scope, no_receive, send or kept)
    return sent


async def test_a_store_that_stumbles_cuts_nobody() -> None:
    knows = Knows(StoreError("locked"), True, StoreError("locked"), False)
    assert await lasted(endless, knows) == [START, LAST]
    assert knows.asked == 4


async def test_a_stream_that_ends_by_itself_is_ended_once() -> None:
    async def short(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        await send(LAST)
        await asyncio.sleep(0.1)

    assert await lasted(short, Knows(False)) == [START, LAST]


async def test_what_is_no_stream_or_has_no_caller_is_not_looked_at() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(0.05)
        await send(LAST)

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        await asyncio.sleep(0.05)
        await send(LAST)

    knows = Knows(False)
    assert len(await lasted(slow, knows)) == 2
    assert len(await lasted(stream, knows, caller=None)) == 2
    assert knows.asked == 0


async def test_a_client_that_takes_no_more_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endstop.server.lasting._LAST_WORD_S", 0.05)
    taken: list[Message] = []

    async def stuck(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()
        taken.append(message)

    async with asyncio.timeout(5):
        await lasted(endless, Knows(False), send=stuck)
    assert taken == [START]


async def test_what_goes_wrong_behind_it_is_told_as_it_was() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        raise ConnectionAbortedError("broke off")

    with pytest.raises(ConnectionAbortedError, match="broke off"):
        await lasted(broken, Knows(True))


async def test_whoever_cancels_the_answer_cancels_the_looking_too() -> None:
    knows = Knows(True)
    answering = asyncio.create_task(lasted(endless, knows))
    await asyncio.sleep(0.05)
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    asked = knows.asked
    await asyncio.sleep(0.05)
    assert knows.asked == asked > 0


class CountingStore(MemoryStore):
    """Counts how often a token is looked up."""

    looked_up = 0

    async def token_of(self, hashed: str) -> StoredToken | None:
        self.looked_up += 1
        return await super().token_of(hashed)


@pytest.mark.thorough
def test_many_streams_of_one_token_ask_the_store_as_often_as_one_does(tmp_path: Path) -> None:
    store = CountingStore()
    with served(tmp_path, store=store) as server:
        _, secret = kept_token(server)
        own = Listening(server, {"Authorization": f"Bearer {server.token()}"})
        assert not own.has_ended(1.5)
        assert store.looked_up == 0  # what is good while the server runs is in memory
        streams = [Listening(server, {"Authorization": f"Bearer {secret}"}) for _ in range(10)]
        before = store.looked_up
        assert not streams[0].has_ended(3.0)
        assert 1 <= store.looked_up - before <= 6
