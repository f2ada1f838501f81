"""Both clients against a server that obeys a script: every call, every way a line can drop."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest

from endstop.client import AsyncClient, Client, stream
from endstop.client.stream import MOST_TRIES
from endstop.errors import EndstopError, InvalidValueError, RunStateError, UnknownRunError

BASE = "http://127.0.0.1:8765"
SSE = {"content-type": "text/event-stream; charset=utf-8", "x-run-id": "run_1"}

Answering = Callable[[httpx.Request], httpx.Response]


def event(chunk_id: str, kind: str, **data: object) -> bytes:
    return f"id: {chunk_id}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


EVENTS = [event("1.0", "content", content="Hel"), event("2.0", "content", content="lo"), event("3.0", "done")]


class Line(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A stream that ends after some bytes, or drops."""

    def __init__(self, *pieces: bytes, drops: bool = False) -> None:
        self._pieces = pieces
        self._drops = drops

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._drops:
            raise httpx.ReadError("the line dropped")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class Scripted:
    """Answers with one answer after the other, and remembers what it was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.asked: list[httpx.Request] = []
        self._answers = list(answers)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self) -> Client:
        return Client(BASE, "es_token", transport=httpx.MockTransport(self))

    def async_client(self) -> AsyncClient:
        return AsyncClient(BASE, "es_token", transport=httpx.MockTransport(self))


def streaming(*pieces: bytes, drops: bool = False) -> httpx.Response:
    return httpx.Response(200, headers=SSE, stream=Line(*pieces, drops=drops))


def problem(status: int, code: str, **more: object) -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "what": "No", **more}})


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "FIRST_WAIT_S", 0.0)


async def asked_by_both(
    *answers: Callable[[], httpx.Response | Exception],
) -> list[tuple[str, list[httpx.Request]]]:
    """The texts that both clients read from the same answers, and what they asked for."""
    blocking, waiting = Scripted(*(make() for make in answers)), Scripted(*(make() for make in answers))
    with blocking.client() as client:
        text = "".join(chunk.text for chunk in client.ask("why?", model="extractive", project=None))
    async with waiting.async_client() as client:
        other = "".join([chunk.text async for chunk in client.ask("why?", model="extractive", project=None)])
    return [(text, blocking.asked), (other, waiting.asked)]


async def test_a_question_is_asked_once_and_its_chunks_come_up_to_the_last() -> None:
    for text, asked in await asked_by_both(lambda: streaming(*EVENTS)):
        assert text == "Hello"
        assert [(one.method, one.url.path) for one in asked] == [("POST", "/api/oracle/query")]
        assert json.loads(asked[0].content) == {"query": "why?", "model": "extractive"}
        assert asked[0].headers["authorization"] == "Bearer es_token"


@pytest.mark.guarantee("I1")
@pytest.mark.parametrize("drops", [True, False], ids=["dropped", "ended"])
@pytest.mark.parametrize("seen", range(1, len(EVENTS)))
async def test_a_line_that_drops_is_taken_up_behind_the_last_chunk(seen: int, drops: bool) -> None:
    whole, half = EVENTS[:seen], EVENTS[seen][:9]
    for text, asked in await asked_by_both(
        lambda: streaming(*whole, half, drops=drops), lambda: streaming(*EVENTS[seen:])
    ):
        assert text == "Hello"
        assert [(one.method, one.url.path) for one in asked] == [
            ("POST", "/api/oracle/query"),
            ("GET", "/api/runs/run_1/stream"),
        ]
        assert asked[1].headers["last-event-id"] == f"{seen}.0"


async def test_chunks_of_new_types_and_without_an_id_are_handed_on_and_lose_no_place() -> None:
    running = b'data: {"type": "running", "path": [0], "names": ["oracle-agent"]}\n\n'
    budget = event("0.0", "budget", limits={"turns": 30})
    for text, asked in await asked_by_both(
        lambda: streaming(running, budget, EVENTS[0], running, drops=True),
        lambda: streaming(running, drops=True),
        lambda: streaming(running, *EVENTS[1:]),
    ):
        assert text == "Hello"
        assert [one.headers.get("last-event-id") for one in asked] == [None, "1.0", "1.0"]


async def test_a_line_that_drops_before_the_first_chunk_does_not_ask_again() -> None:
    for text, asked in await asked_by_both(lambda: streaming(drops=True), lambda: streaming(*EVENTS)):
        assert text == "Hello"
        assert [one.method for one in asked] == ["POST", "GET"]
        assert "last-event-id" not in asked[1].headers


async def test_a_server_that_starts_again_is_waited_for() -> None:
    for text, asked in await asked_by_both(
        lambda: streaming(EVENTS[0], drops=True),
        lambda: httpx.ConnectError("refused"),
        lambda: problem(503, "store_failed"),
        lambda: streaming(*EVENTS[1:]),
    ):
        assert (text, len(asked)) == ("Hello", 4)


async def test_a_server_that_stays_away_is_given_up() -> None:
    server = Scripted(streaming(EVENTS[0], drops=True), httpx.ConnectError("refused"))
    with server.client() as client, pytest.raises(EndstopError, match="No Endstop server answers at"):
        list(client.ask("why?"))
    assert len(server.asked) == MOST_TRIES


async def test_a_question_that_may_have_been_heard_is_not_asked_twice() -> None:
    for make in (lambda: httpx.ReadError("dropped"), lambda: problem(503, "store_failed")):
        server, other = Scripted(make()), Scripted(make())
        with server.client() as client, pytest.raises(EndstopError):
            list(client.ask("why?"))
        async with other.async_client() as client:
            with pytest.raises(EndstopError):
                await anext(client.ask("why?"))
        assert (len(server.asked), len(other.asked)) == (1, 1)


async def test_what_is_refused_in_place_of_a_stream_is_raised() -> None:
    server, other = Scripted(problem(404, "unknown_run")), Scripted(problem(404, "unknown_run"))
    with server.client() as client, pytest.raises(UnknownRunError):
        list(client.follow("run_2"))
    async with other.async_client() as client:
        with pytest.raises(UnknownRunError):
            await anext(client.follow("run_2"))


async def test_a_page_in_place_of_a_stream_is_refused() -> None:
    server = Scripted(httpx.Response(200, text="<html>"))
    with server.client() as client, pytest.raises(EndstopError, match="not in the way Endstop does"):
        list(client.ask("why?"))


async def test_a_run_is_followed_from_behind_a_chunk_and_may_be_left() -> None:
    server, other = Scripted(streaming(*EVENTS)), Scripted(streaming(*EVENTS))
    with server.client() as client:
        chunks = client.follow("run_1", after="0.0")
        next(chunks)
        assert (chunks.run_id, chunks.last_id) == ("run_1", "1.0")
        chunks.close()
        assert list(chunks) == []
    async with other.async_client() as client:
        later = client.follow("run_1", after="0.0")
        await anext(later)
        assert (later.run_id, later.last_id) == ("run_1", "1.0")
        await later.close()
        assert [chunk async for chunk in later] == []
    assert server.asked[0].headers["last-event-id"] == other.asked[0].headers["last-event-id"] == "0.0"


async def test_a_stream_that_does_not_name_its_run_cannot_be_taken_up() -> None:
    def nameless() -> Scripted:
        return Scripted(
            httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Line(drops=True))
        )

    with nameless().client() as client, pytest.raises(EndstopError, match="No Endstop server answers"):
        list(client.ask("why?"))
    async with nameless().async_client() as client:
        with pytest.raises(EndstopError, match="No Endstop server answers"):
            await anext(client.ask("why?"))


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], str, str, object]] = [
    (
        "runs",
        (),
        {"phase": ["ended", "running"], "text": None},
        "GET",
        "/api/runs?phase=ended&phase=running",
        None,
    ),
    ("run", ("r/1",), {}, "GET", "/api/runs/r%2F1", None),
    ("facts", ("r",), {}, "GET", "/api/runs/r/facts", None),
    ("timeline", ("r",), {}, "GET", "/api/runs/r/timeline", None),
    ("audit", ("r",), {}, "GET", "/api/runs/r/audit", None),
    ("explain", ("r",), {}, "GET", "/api/runs/r/explain", None),
    ("burndown", ("r",), {}, "GET", "/api/runs/r/burndown", None),
    ("run_tree", ("r",), {}, "GET", "/api/runs/r/tree", None),
    ("cancel", ("r",), {"after_turn": True}, "POST", "/api/runs/r/cancel", {"after_turn": True}),
    ("resume", ("r",), {"grant": {"turns": 5}}, "POST", "/api/runs/r/resume", {"grant": {"turns": 5}}),
    ("answer", ("r", "yes"), {}, "POST", "/api/runs/r/answer", {"answer": "yes"}),
    ("reviews", (), {}, "GET", "/api/reviews", None),
    ("review", ("r", "review:1"), {}, "GET", "/api/reviews/r/review%3A1", None),
    ("conversations", (), {}, "GET", "/api/conversations", None),
    ("conversation", ("c/1",), {}, "GET", "/api/conversations/c%2F1", None),
    (
        "decide",
        ("r", "review:1", "approved"),
        {"grant": {"turns": 5}, "why": "ok", "feedback": None},
        "POST",
        "/api/reviews/r/review%3A1/decide",
        {"decision": "approved", "grant": {"turns": 5}, "why": "ok"},
    ),
    ("settings", (), {}, "GET", "/api/settings/agent-config", None),
    (
        "change_settings",
        (),
        {"cost_limit_usd": None},
        "PUT",
        "/api/settings/agent-config",
        {"cost_limit_usd": None},
    ),
    ("reset_settings", (), {}, "POST", "/api/settings/agent-config/reset", None),
    ("models", (), {}, "GET", "/api/models", None),
    ("trees", (), {}, "GET", "/api/trees", None),
    ("tree", ("../x",), {}, "GET", "/api/trees/..%2Fx", None),
    ("check_tree", ("return 7",), {}, "POST", "/api/trees/check", {"text": "return 7"}),
    ("bound", (), {"tree": "oracle-agent", "model": None}, "POST", "/api/bound", {"tree": "oracle-agent"}),
]


@pytest.mark.parametrize(
    ("name", "given", "named", "method", "path", "body"), CALLS, ids=[c[0] for c in CALLS]
)
async def test_a_call_sends_what_the_server_takes(
    name: str, given: tuple[Any, ...], named: dict[str, Any], method: str, path: str, body: object
) -> None:
    server, other = Scripted(httpx.Response(200, json={"a": 1})), Scripted(httpx.Response(200, json={"a": 1}))
    with server.client() as client:
        assert getattr(client, name)(*given, **named) == {"a": 1}
    async with other.async_client() as client:
        assert await getattr(client, name)(*given, **named) == {"a": 1}
    for request in (*server.asked, *other.asked):
        assert (request.method, request.url.raw_path.decode()) == (method, path)
        assert (json.loads(request.content) if request.content else None) == body


async def test_a_conversation_is_deleted() -> None:
    server, other = Scripted(httpx.Response(204)), Scripted(httpx.Response(204))
    with server.client() as client:
        client.delete_conversation("c")
    async with other.async_client() as client:
        await client.delete_conversation("c")
    for (request,) in (server.asked, other.asked):
        assert (request.method, request.url.path) == ("DELETE", "/api/conversations/c")


def test_both_clients_have_the_same_calls_with_the_same_arguments() -> None:
    def shown(kind: type) -> dict[str, str]:
        methods = inspect.getmembers(kind, inspect.isfunction)
        return {name: str(inspect.signature(one).parameters) for name, one in methods if name[0] != "_"}

    assert shown(Client) == shown(AsyncClient)


async def test_what_is_refused_is_raised_as_its_own_kind() -> None:
    server, other = Scripted(problem(409, "run_state")), Scripted(problem(409, "run_state"))
    with server.client() as client, pytest.raises(RunStateError):
        client.cancel("run_1")
    async with other.async_client() as client:
        with pytest.raises(RunStateError):
            await client.cancel("run_1")


async def test_nobody_who_answers_is_told_with_the_address_and_without_the_token() -> None:
    server, other = Scripted(httpx.ConnectError("refused")), Scripted(httpx.ConnectError("refused"))
    with server.client() as client, pytest.raises(EndstopError, match=r"127\.0\.0\.1:8765") as caught:
        client.settings()
    async with other.async_client() as client:
        with pytest.raises(EndstopError, match=r"127\.0\.0\.1:8765"):
            await client.settings()
    assert "es_token" not in str(caught.value)


async def test_an_answer_that_is_no_json_is_refused_and_an_empty_one_is_nothing() -> None:
    with Scripted(httpx.Response(200, text="<html>")).client() as client, pytest.raises(EndstopError):
        client.models()
    with Scripted(httpx.Response(204)).client() as client:
        assert client.models() is None


@pytest.mark.parametrize("address", ["", "127.0.0.1:8765", "ftp://127.0.0.1", "http://"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidValueError, match="base_url"):
        Client(address)


def test_a_client_may_have_no_token() -> None:
    server = Scripted(httpx.Response(200, json={}))
    with Client(BASE, transport=httpx.MockTransport(server)) as client:
        client.models()
    assert "authorization" not in server.asked[0].headers
