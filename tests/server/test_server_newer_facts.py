"""A server that is older than the worker of a run: what it cannot read does not break what it can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest
from chat_server import Asked, ChatServer, chat_server

from endstop.events import codec
from endstop.server import hub, notices
from endstop.server.notices import NoticePlace, follow_notices
from endstop.server.stream import Telling
from endstop.store import open_store
from endstop.testing import ScriptedModel, calls, echo_tool


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ChatServer]:
    monkeypatch.setattr(hub, "TOO_OLD_S", 0.2)
    store = await open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    model = ScriptedModel(*(calls("echo", text=str(number)) for number in range(8)), "Done.")
    async with chat_server(tmp_path, lambda: model, tools=[echo_tool()], store=store) as made:
        yield made
    await store.close()


async def asked_before(server: ChatServer) -> Asked:
    """A run that this process has let go of: all that is known of it is its record."""
    asked = await server.asked()
    while server.hub.measures.live_runs():
        await asyncio.sleep(0.01)
    return asked


def too_old_for(monkeypatch: pytest.MonkeyPatch, type_of_fact: str) -> None:
    """From now on, nobody here has heard of this type of fact."""
    known = {name: kind for name, kind in codec.PAYLOAD_OF_TYPE.items() if name != type_of_fact}
    monkeypatch.setattr(codec, "PAYLOAD_OF_TYPE", known)


async def test_a_stream_tells_all_it_can_read_then_says_why_no_more_and_ends(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await asked_before(server)
    too_old_for(monkeypatch, "run.ended")
    async with asyncio.timeout(5):
        told = await server.rest(asked.run_id)
    readable = [event for event in asked.events if event.type != "done"]
    assert [event.id for event in told[:-1]] == [event.id for event in readable]
    last = told[-1]
    assert (last.type, last.data["code"]) == ("error", "unknown_fact")
    assert last.id == told[-2].id  # it has none of its own
    assert "run.ended" in str(last.data["message"])


async def test_whoever_comes_back_to_a_newer_server_goes_on_where_the_old_one_gave_up(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await asked_before(server)
    with monkeypatch.context() as old:
        too_old_for(old, "run.ended")
        told = await server.rest(asked.run_id)
        again = await server.rest(asked.run_id, told[-2].id)  # to the old one: it says the same
        assert [event.type for event in again] == ["error"]
    rest = await server.rest(asked.run_id, told[-2].id)
    assert [event.id for event in (*told[:-1], *rest)] == [event.id for event in asked.events]


async def test_a_client_is_not_sent_away_at_once_only_to_come_back_for_the_same(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await asked_before(server)
    too_old_for(monkeypatch, "run.ended")
    monkeypatch.setattr(hub, "TOO_OLD_S", 60.0)
    monkeypatch.setattr(server.hub, "heartbeat_s", 0.05)
    following = server.hub.follow(asked.run_id, Telling.from_the_start())
    told: list[str] = []
    async with asyncio.timeout(5):
        async for event in following:
            told.append("" if event is None else event.type)
            if told[-3:] == ["", "", ""]:
                server.hub.close()  # the server is updated
    assert told.count("error") == 1
    assert told[told.index("error") + 1 :] == [""] * 3


async def test_runs_are_listed_whatever_is_in_their_records(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await asked_before(server)
    too_old_for(monkeypatch, "turn.started")
    runs = (await server.me.get("/api/runs")).json()["runs"]
    assert [run["run_id"] for run in runs] == [asked.run_id]


@pytest.mark.parametrize("view", ["", "/explain", "/audit"])
async def test_what_needs_the_whole_record_says_what_to_do(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    asked = await asked_before(server)
    monkeypatch.setattr(codec, "VERSION", 0)
    answer = await server.me.get(f"/api/runs/{asked.run_id}{view}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "newer_fact")
    assert "update" in error["to_do"]


async def test_notifications_go_on_when_the_server_can_read_them_again(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await asked_before(server)
    monkeypatch.setattr(notices, "_LOOK_EVERY_S", 0.05)
    store = server.store
    user = (await store.run(asked.run_id)).user or ""
    following = follow_notices(server.hub, store, user, NoticePlace(time=0.0))
    async with aclosing(following), asyncio.timeout(5):
        with monkeypatch.context() as old:
            old.setattr(codec, "VERSION", 0)
            coming = asyncio.ensure_future(anext(following))
            await asyncio.sleep(0.2)
            assert not coming.done()
        notice = await coming
    assert notice is not None
    assert notice.data["run_id"] == asked.run_id
