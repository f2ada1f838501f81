"""Where the tree of a run stands, told live: to whoever watches, without an id, and never on record."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any, cast

import httpx
import pytest
from chat_server import read_sse

from endstop.events.chunks import RunningPath
from endstop.kernel.agent import AgentConfig
from endstop.loop.agent import Agent
from endstop.loop.journal import Delta
from endstop.loop.turns import Turns
from endstop.server.live import LiveRun
from endstop.server.questions import Wanted
from endstop.testing import MemoryStore, ScriptedModel
from served import Served, served

ASKING = RunningPath(path=(0, 3, 7), names=("oracle-agent", "turns", "ask"))
ANSWERING = RunningPath(path=(0, 3), names=("oracle-agent", "turns"))


async def told_on_the_way(turns: Turns) -> None:
    """Takes a turn as a tree would that says where it stands whenever it goes to sleep."""
    show = cast("Any", turns.journal.listener)
    assert show.hears_running
    assert turns.begin()
    for path in (ASKING, ASKING, ANSWERING):
        show(path)
        await asyncio.sleep(0.1)
    await turns.ask()
    turns.finished("It is in login.py.")
    turns.end()


def steered(wanted: Wanted) -> Agent:
    return Agent(
        name="steered",
        model=ScriptedModel("It is in login.py."),
        config=AgentConfig(budget=wanted.budget),
        steering=told_on_the_way,
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("home"), make_agent=steered) as running:
        yield running


@pytest.fixture
def me(server: Served) -> Generator[httpx.Client]:
    headers = {"Authorization": f"Bearer {server.token()}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=20) as client:
        yield client


def test_whoever_watches_is_told_each_place_once_and_without_an_id(me: httpx.Client) -> None:
    answer = me.post("/api/oracle/query", json={"query": "Where is login?"})
    blocks = [block for block in answer.text.split("\n\n") if '"type":"running"' in block]
    assert blocks == [
        'data: {"type":"running","path":[0,3,7],"names":["oracle-agent","turns","ask"]}',
        'data: {"type":"running","path":[0,3],"names":["oracle-agent","turns"]}',
    ]
    assert read_sse(answer.text)[-1].data["outcome"] == "completed"


def test_whoever_comes_later_is_not_told(me: httpx.Client) -> None:
    answer = me.post("/api/oracle/query", json={"query": "Where is login?"})
    run_id = answer.headers["x-run-id"]
    again = me.get(f"/api/runs/{run_id}/stream").text
    assert "running" not in again
    assert "oracle-agent" not in me.get(f"/api/runs/{run_id}/export").text
    events = read_sse(answer.text)
    place = next(place for place, event in enumerate(events) if event.type == "running")
    rest = me.get(f"/api/runs/{run_id}/stream", headers={"Last-Event-ID": events[place].id}).text
    later = [event for event in events[place:] if event.type not in ("running", "content")]
    assert [event.type for event in read_sse(rest) if event.type != "content"] == [one.type for one in later]


async def test_a_live_run_keeps_the_last_place_of_the_run_itself_until_it_is_left() -> None:
    live = LiveRun("run", MemoryStore(), on_safe=lambda fact: None)
    woken = asyncio.Event()
    live.watch(woken)
    live(RunningPath(scope="run/child", path=(0,), names=("child",)))
    assert live.running is None
    assert not woken.is_set()
    live(ASKING)
    assert live.running is ASKING
    assert woken.is_set()
    woken.clear()
    live(RunningPath(path=ASKING.path, names=ASKING.names))
    assert not woken.is_set()
    live(Delta(run_id="run", scope="run", turn=0, text="a word"))
    reply = live.reply_now()
    assert reply is not None
    assert reply.pieces == [(False, "a word")]
    assert live.running is ASKING
    live.leave()
    assert live.running is None


def test_a_stream_that_opens_in_the_middle_is_told_at_once(me: httpx.Client) -> None:
    with me.stream("POST", "/api/oracle/query", json={"query": "Where is login?"}) as answer:
        run_id = answer.headers["x-run-id"]
        next(line for line in answer.iter_lines() if '"running"' in line)
        late = me.get(f"/api/runs/{run_id}/stream").text
    assert '"type":"running","path":[0,3,7]' in late
