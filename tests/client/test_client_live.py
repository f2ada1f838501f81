"""The clients against a real server on a real socket: asked, followed, cut off at every byte, decided."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from endstop.app import make_agent
from endstop.client import AsyncClient, Client, stream
from endstop.errors import (
    AccessError,
    EndstopError,
    InvalidValueError,
    RunStateError,
    UnknownRunError,
    UnknownTreeError,
)
from endstop.kernel.budget import Budget
from endstop.loop.agent import OnLimit
from endstop.server.questions import Wanted
from endstop.testing import ScriptedModel, calls, echo_tool
from served import Served, served

ANSWER = "It is checked in login.py,\u2028and nowhere else."


def scripted(wanted: Wanted) -> Any:
    """Calls a tool, then answers in small pieces; slowly if the question asks for it."""
    model = ScriptedModel(
        calls("echo", text="login"), ANSWER, piece_chars=5, delay_s=5.0 if wanted.question == "slow" else 0.0
    )
    budget = Budget(turns=1 if wanted.on_limit == "review" else 9, tool_calls_per_turn=5)
    return make_agent(
        model=model, tools=[echo_tool()], budget=budget, on_limit=OnLimit(wanted.on_limit), name="scripted"
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("home"), make_agent=scripted) as made:
        yield made


@pytest.fixture
def client(server: Served) -> Generator[Client]:
    with Client(server.url, server.token()) as made:
        yield made


def said(chunks: list[stream.Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if chunk.type == "content")


@pytest.mark.guarantee("I1")
def test_a_question_is_answered_chunk_by_chunk(client: Client) -> None:
    asked = client.ask("where?")
    chunks = list(asked)
    assert said(chunks) == ANSWER
    assert [chunk.type for chunk in chunks].count("done") == 1
    assert chunks[-1].is_last
    assert asked.run_id is not None
    assert client.run(asked.run_id)["answer"] == ANSWER


async def test_the_same_without_waiting(server: Served) -> None:
    async with AsyncClient(server.url, server.token()) as client:
        assert said([chunk async for chunk in client.ask("where?")]) == ANSWER
        assert (await client.settings())["max_iterations"] == 30


class Cut(httpx.HTTPTransport):
    """A line to a real server that drops once, after so many bytes of a stream."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.drops_left = 1
        self._after = after

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if self.drops_left and response.headers["content-type"].startswith("text/event-stream"):
            self.drops_left -= 1
            assert isinstance(response.stream, httpx.SyncByteStream)
            response.stream = Dropping(response.stream, self._after)
        return response


class Dropping(httpx.SyncByteStream):
    def __init__(self, whole: httpx.SyncByteStream, after: int) -> None:
        self._whole = whole
        self._left = after

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._whole:
            yield piece[: self._left]
            self._left -= len(piece)
            if self._left <= 0:
                raise httpx.ReadError("the line dropped")

    def close(self) -> None:
        self._whole.close()


@pytest.mark.guarantee("I1")
def test_a_line_that_drops_at_any_byte_loses_and_repeats_nothing(
    server: Served, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "FIRST_WAIT_S", 0.0)
    asked = client.ask("where?")
    whole = list(asked)
    assert asked.run_id is not None
    with httpx.Client(trust_env=False) as plain:
        headers = {"Authorization": f"Bearer {server.token()}"}
        size = len(plain.get(f"{server.url}/api/runs/{asked.run_id}/stream", headers=headers).content)
    recorded = list(client.follow(asked.run_id))
    assert said(recorded) == said(whole)
    for after in range(0, size, 7):
        line = Cut(after)
        with Client(server.url, server.token(), transport=line) as cut:
            assert list(cut.follow(asked.run_id)) == recorded
        assert line.drops_left == 0


def test_a_live_answer_that_is_cut_off_is_heard_whole_all_the_same(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "FIRST_WAIT_S", 0.0)
    for after in range(0, 1_200, 150):
        with Client(server.url, server.token(), transport=Cut(after)) as cut:
            assert said(list(cut.ask("where?"))) == ANSWER


def test_a_run_is_cancelled(client: Client) -> None:
    asked = client.ask("slow")
    next(asked)
    assert asked.run_id is not None
    assert client.cancel(asked.run_id)["is_done"]
    last = list(asked)[-1]
    assert (last.type, last.data["outcome"]) == ("done", "cancelled")
    with pytest.raises(RunStateError):
        client.cancel(asked.run_id)


def test_a_review_is_found_decided_and_the_run_goes_on(client: Client) -> None:
    asked = client.ask("where?", on_limit="review")
    first = list(asked)
    assert asked.run_id is not None
    review = next(one for one in client.reviews() if one["run_id"] == asked.run_id)
    assert client.review(asked.run_id, review["review_id"])["why"] == review["why"]
    decided = client.decide(asked.run_id, review["review_id"], "approved", grant={"turns": 3}, why="go on")
    assert (decided["decision"], decided["is_resumed"]) == ("approved", True)
    rest = list(client.follow(asked.run_id, after=first[-1].id))
    assert said(rest) == ANSWER
    assert client.audit(asked.run_id)["holds"]


def test_a_paused_run_is_resumed_with_a_grant(client: Client) -> None:
    asked = client.ask("where?", on_limit="review")
    first = list(asked)
    assert asked.run_id is not None
    client.resume(asked.run_id, grant={"turns": 3})
    assert said(list(client.follow(asked.run_id, after=first[-1].id))) == ANSWER


def test_runs_are_listed_page_by_page_and_told_in_words(client: Client) -> None:
    for _ in range(3):
        list(client.ask("where?"))
    first = client.runs(limit=2)
    second = client.runs(limit=2, cursor=first["next"])
    ids = [run["run_id"] for page in (first, second) for run in page["runs"]]
    assert len(set(ids)) == len(ids) >= 3
    assert client.facts(ids[0])["facts"][0]["seq"] == 0
    assert client.timeline(ids[0])
    assert client.explain(ids[0])["headline"]
    assert client.burndown(ids[0])["points"]
    with pytest.raises(UnknownTreeError, match="No tree steers"):
        client.run_tree(ids[0])
    conversation = client.conversations()[0]
    assert client.conversation(conversation["id"])


def test_settings_are_changed_and_refused_by_name(client: Client) -> None:
    assert client.change_settings(max_iterations=7)["max_iterations"] == 7
    with pytest.raises(InvalidValueError, match="max_iterations is 101") as caught:
        client.change_settings(max_iterations=101)
    assert caught.value.field == "max_iterations"
    assert vars(caught.value)["bounds"] == {"smallest": 1, "largest": 100}
    assert client.reset_settings()["max_iterations"] == 30


def test_models_trees_and_bounds_are_told(client: Client) -> None:
    assert client.models()["built_in"]["is_usable"]
    assert "oracle-agent" in [tree["name"] for tree in client.trees()]
    assert client.tree("oracle-agent")["nodes"]
    assert client.check_tree("return 7")["problems"]
    assert client.bound(limits={"max_iterations": 3})["text"].startswith("at most 3 turns")


@pytest.mark.guarantee("I6")
def test_another_user_finds_nothing_of_mine(server: Served, client: Client) -> None:
    asked = client.ask("where?")
    list(asked)
    assert asked.run_id is not None
    with Client(server.url, server.token("other")) as other:
        for call in (other.run, other.cancel, other.resume, other.audit, other.explain):
            with pytest.raises(UnknownRunError):
                call(asked.run_id)
        with pytest.raises(UnknownRunError):
            list(other.follow(asked.run_id))
        assert other.runs()["runs"] == []


def test_without_a_good_token_nothing_is_told(server: Served) -> None:
    for token in (None, "es_nonsense", "nonsense"):
        with Client(server.url, token) as stranger, pytest.raises(AccessError):
            stranger.settings()


def test_a_server_that_is_gone_is_told_to_be(tmp_path: Path) -> None:
    with served(tmp_path, make_agent=scripted) as gone:
        url, token = gone.url, gone.token()
    with Client(url, token) as client, pytest.raises(EndstopError, match="No Endstop server answers"):
        client.settings()
