"""The playground over a real server: asked as a model, watched, reviewed, granted, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from chat_server import read_sse

from endstop.server.stream import StreamEvent
from endstop.testing import ADVERSARIES
from served import Served, served

QUERY = "/api/oracle/query"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture
def me(server: Served) -> Generator[httpx.Client]:
    with _client(server.url, server.token()) as client:
        yield client


def _client(url: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=40)


def asked(me: httpx.Client, name: str, **more: object) -> tuple[str, list[StreamEvent]]:
    body = {"query": "Go on for ever.", "model": f"playground:{name}", **more}
    answer = me.post(QUERY, json=body)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-run-id"], read_sse(answer.text)


def detail(me: httpx.Client, run_id: str) -> dict[str, Any]:
    return me.get(f"/api/runs/{run_id}").json()


def test_the_list_of_models_has_every_adversary(me: httpx.Client) -> None:
    listed = me.get("/api/models").json()["playground"]
    assert [one["name"] for one in listed] == [f"playground:{name}" for name in ADVERSARIES]
    assert all(set(one) == {"name", "title", "about", "ends"} and all(one.values()) for one in listed)


def test_a_runaway_is_watched_turn_by_turn_until_it_is_stopped(me: httpx.Client) -> None:
    run_id, events = asked(me, "runaway")
    assert events[0].type == "budget"
    assert events[0].data["limits"] == {"turns": 12, "tokens": 200_000, "seconds": 20.0}
    assert events[0].data["model"] == "playground:runaway"
    assert events[-1].type == "done"
    shown = detail(me, run_id)
    assert (shown["model"], shown["agent"]) == ("playground:runaway", "playground:runaway")
    assert (shown["turns"], shown["tree"]) == (12, None)
    assert "iteration limit" in shown["reason"]
    assert me.get(f"/api/runs/{run_id}/audit").json()["holds"] is True


def test_the_limits_of_the_question_hold(me: httpx.Client) -> None:
    run_id, _ = asked(me, "runaway", limits={"max_iterations": 13})
    assert detail(me, run_id)["meters"]["turns"]["limit"] == 13
    run_id, _ = asked(me, "runaway", limits={"max_iterations": 2, "timeout_seconds": 30})
    meters = detail(me, run_id)["meters"]
    assert (meters["turns"]["limit"], meters["seconds"]["limit"]) == (2, 30)


@pytest.mark.thorough
@pytest.mark.guarantee("A11")
def test_a_tool_that_hangs_is_stopped_by_the_time_of_the_question(me: httpx.Client) -> None:
    run_id, events = asked(me, "tool_hangs", limits={"timeout_seconds": 10})
    assert events[-1].type == "done"
    shown = detail(me, run_id)
    assert "time limit" in shown["reason"].lower()
    assert 8 < shown["meters"]["seconds"]["used"] <= 10.3


def test_what_is_found_is_told(me: httpx.Client) -> None:
    run_id, events = asked(me, "repeats_call")
    assert events[-1].data["rule"] == "no_progress"
    (finding,) = detail(me, run_id)["findings"]
    assert (finding["pattern"], finding["times"]) == ("identical_call", 3)
    assert len(finding["evidence"]) == 3


@pytest.mark.guarantee("D3", "A9")
def test_it_is_paused_for_a_review_and_goes_on_with_a_grant(me: httpx.Client) -> None:
    run_id, events = asked(me, "ignores_last_turn", limits={"max_iterations": 2}, on_limit="review")
    assert [event.type for event in events[-2:]] == ["paused", "done"]
    assert events[-1].data["outcome"] == "under_review"
    assert detail(me, run_id)["review_id"] == "review:1"
    body = {"grant": {"turns": 2, "why": "to see more"}}
    assert me.post(f"/api/runs/{run_id}/resume", json=body).status_code == 202
    rest = read_sse(me.get(f"/api/runs/{run_id}/stream", headers={"Last-Event-ID": events[-1].id}).text)
    kinds = [event.type for event in rest]
    assert kinds[:2] == ["resumed", "grant"]
    assert rest[1].data == {"added": {"turns": 2}, "by": "me", "why": "to see more"}
    shown = detail(me, run_id)
    assert shown["turns"] == 4
    assert [(one["added"], one["by"], one["why"]) for one in shown["grants"]] == [
        ({"turns": 2}, "me", "to see more")
    ]


def test_a_name_that_is_not_there_is_refused(me: httpx.Client) -> None:
    answer = me.post(QUERY, json={"query": "x", "model": "playground:runawy"})
    problem = answer.json()["error"]
    assert (answer.status_code, problem["field"]) == (422, "model")
    assert problem["to_do"] == "Did you mean playground:runaway?"


def test_what_it_can_cost_at_most_is_known_before(me: httpx.Client) -> None:
    answer = me.post("/api/bound", json={"model": "playground:runaway"})
    bound = answer.json()
    assert (answer.status_code, bound["is_price_known"]) == (200, True)
    assert (bound["without_grants"]["turns"], bound["without_grants"]["seconds"]) == (12, 20)
    answer = me.post("/api/bound", json={"model": "playground:runaway", "limits": {"max_iterations": 15}})
    assert answer.json()["without_grants"]["turns"] == 15


# ── killed ────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def serving(home: Path) -> Generator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A process as `endstop serve` is, on a database in ``home``."""
    environment = {
        **os.environ,
        "ENDSTOP_HOME": str(home),
        "ENDSTOP_DATABASE_URL": f"sqlite:///{home / 'runs.db'}",
    }
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("playground_server.py")), str(home)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        url, token = process.stdout.readline().split()
        with _client(url, token) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.guarantee("H5")
def test_a_server_killed_while_it_plays_goes_on_when_it_starts_again(tmp_path: Path) -> None:
    seen: list[str] = []
    body = {"query": "Go on for ever.", "model": "playground:ignores_last_turn"}
    with serving(tmp_path) as (process, me), me.stream("POST", QUERY, json=body) as answer:
        run_id = answer.headers["x-run-id"]
        with suppress(httpx.RemoteProtocolError, httpx.ReadError):
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    seen.append(json.loads(line.removeprefix("data: "))["type"])
                if seen.count("tool_result") == 3:
                    process.send_signal(signal.SIGKILL)
    assert "done" not in seen
    with serving(tmp_path) as (_, me):
        events = read_sse(me.get(f"/api/runs/{run_id}/stream").text)
        assert events[-1].data["outcome"] == "forced"
        shown = detail(me, run_id)
        assert (shown["phase"], shown["turns"]) == ("ENDED", 12)
        report = me.get(f"/api/runs/{run_id}/audit").json()
        assert report["holds"], report
