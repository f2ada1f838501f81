"""Pictures of a run over the API: its burndown, its tree, and the fields that a page shows beside them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from chat_server import busy_model, chat_server, read_sse
from small_server import SmallServer, small_server

from endstop.app.oracle import make_oracle
from endstop.events.steered import TreeChosen, TreeTraced
from endstop.loop.agent import Agent
from endstop.server.questions import Wanted
from endstop.server.rate import QueryLimits
from endstop.server.routes_run_views import last_statuses
from endstop.testing import ScriptedModel, calls, echo_tool, reply

SIGNAL = '<signal type="need_turn"><reason>to look</reason><confidence>0.9</confidence></signal>'


async def got(client: httpx.AsyncClient, run_id: str, part: str = "") -> dict[str, Any]:
    answer = await client.get(f"/api/runs/{run_id}{part}")
    assert answer.status_code == 200, answer.text
    return answer.json()


# ── the burndown ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("A9")
async def test_a_burndown_shows_what_was_used_what_was_allowed_and_what_happened(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        limits = {"max_iterations": 4, "soft_warning_percent": 50, "cost_limit_usd": "0.50"}
        asked = await server.asked(limits=limits, on_limit="review")
        await server.me.post(
            f"/api/runs/{asked.run_id}/resume",
            json={"grant": {"turns": 5, "cost_usd": "0.25", "why": "nearly there"}},
        )
        await server.rest(asked.run_id, asked.events[-1].id)
        found = await got(server.me, asked.run_id, "/burndown")
        shown = await got(server.me, asked.run_id)
        assert found["run_id"] == asked.run_id
        assert found["unit_limits"] == {
            "turns": 9,
            "tokens": 200_000,
            "cost_usd": "0.75",
            "seconds": 300.0,
        }
        assert [(one["turns"], one["cost_usd"], one["seconds"]) for one in found["limits"]] == [
            (4, "0.5", 300.0),
            (9, "0.75", 300.0),
        ]
        assert found["limits"][0]["at_s"] == 0.0
        last = found["points"][-1]
        assert (last["turns"], last["tokens"], last["cost_usd"]) == (
            shown["turns"],
            shown["tokens"],
            shown["cost_usd"],
        )
        assert found["points"][0] == {
            "at_s": 0.0,
            "seq": 0,
            "turns": 0,
            "tokens": 0,
            "cost_usd": "0",
            "seconds": 0.0,
        }
        kinds = [mark["kind"] for mark in found["marks"]]
        assert kinds == ["warning", "paused", "resumed", "grant", "ended"]
        assert found["marks"][3]["text"] == "Granted by ana: nearly there"


# ── the tree ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[SmallServer]:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path))
    async with small_server(tmp_path, limits=QueryLimits(per_minute=1_000)) as made:
        yield made


async def asked_oracle(server: SmallServer) -> tuple[str, list[str]]:
    answer = await server.me.post("/api/oracle/query", json={"query": "Where is login?"}, timeout=30)
    return answer.headers["x-run-id"], [event.type for event in read_sse(answer.text)]


@pytest.mark.guarantee("E6")
async def test_the_tree_of_a_run_has_its_nodes_and_how_each_stood_last(server: SmallServer) -> None:
    run_id, types = await asked_oracle(server)
    assert {"tree", "trace"} <= set(types)
    found = await got(server.me, run_id, "/tree")
    listed = (await server.me.get("/api/trees/oracle-agent")).json()
    assert (found["name"], found["hash"]) == ("oracle-agent", listed["hash"])
    assert [node["index"] for node in found["nodes"]] == [node["index"] for node in listed["nodes"]]
    assert found["nodes"] == listed["nodes"]
    indexes = {str(node["index"]) for node in found["nodes"]}
    assert set(found["statuses"]) <= indexes
    assert found["statuses"]["0"] in ("success", "failure", "halted")
    assert set(found["statuses"].values()) <= {"running", "success", "failure", "halted"}
    assert (await got(server.me, run_id))["tree"] == "oracle-agent"


async def test_where_the_tree_of_a_run_stands_is_told_by_the_same_indexes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path))

    def make_agent(wanted: Wanted) -> Agent:
        model = ScriptedModel("It is in login.py.", delay_s=0.3)
        return make_oracle(wanted.project, model=model, budget=wanted.budget, tree=wanted.tree)

    async with small_server(tmp_path, make_agent=make_agent) as server:
        answer = await server.me.post("/api/oracle/query", json={"query": "Where is login?"}, timeout=30)
        nodes = (await got(server.me, answer.headers["x-run-id"], "/tree"))["nodes"]
        told = [event.data for event in read_sse(answer.text) if event.type == "running"]
        assert told
        for one in told:
            assert one["names"] == [nodes[index]["name"] for index in cast("list[int]", one["path"])]


@pytest.mark.guarantee("E5")
async def test_the_tree_of_a_run_stays_what_it_was(server: SmallServer, tmp_path: Path) -> None:
    run_id, _ = await asked_oracle(server)
    before = await got(server.me, run_id, "/tree")
    own = tmp_path / "trees"
    own.mkdir()
    (own / "oracle-agent.lua").write_text("this is no tree", "utf-8")
    assert await got(server.me, run_id, "/tree") == before


async def test_a_run_that_no_tree_steers_has_none(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked()
        answer = await server.me.get(f"/api/runs/{asked.run_id}/tree")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_tree")
        assert (await got(server.me, asked.run_id))["tree"] is None


async def test_a_tree_on_record_that_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked()
        last = (await server.store.record(asked.run_id))[-1]
        broken = TreeChosen(tree="mine", hash="0", spec="[1")
        await server.store.append([last.__class__(**_fields(last, payload=broken))])
        answer = await server.me.get(f"/api/runs/{asked.run_id}/tree")
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "tree")


def _fields(fact: Any, **changed: Any) -> dict[str, Any]:
    own = {name: getattr(fact, name) for name in ("run_id", "time", "source")}
    return {**own, "seq": fact.seq + 1, **changed}


def test_the_last_word_of_a_node_counts() -> None:
    notes = [
        TreeTraced(turn=0, steps=("0 running", "3 success", "4 running")),
        TreeTraced(turn=1, steps=("4 halted", "0 success")),
    ]
    assert last_statuses(notes) == {"0": "success", "3": "success", "4": "halted"}


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize("part", ["burndown", "tree"])
async def test_pictures_of_what_is_not_yours_are_not_there(tmp_path: Path, part: str) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked()
        answer = await server.other.get(f"/api/runs/{asked.run_id}/{part}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_run")


# ── one run ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_meters_say_where_they_warn_and_what_they_hold_back(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked(limits={"max_iterations": 10, "cost_limit_usd": "1"})
        meters = (await got(server.me, asked.run_id))["meters"]
        found = {name: (one["warn_percent"], one["reserve"]) for name, one in meters.items()}
        assert found == {
            "turns": (70.0, 1),
            "tokens": (80.0, 10_000),
            "cost_usd": (None, "0.05"),
            "seconds": (None, 15.0),
        }


async def test_signals_are_shown_as_they_came(tmp_path: Path) -> None:
    model = lambda: ScriptedModel(  # noqa: E731 - short
        reply(text=f"One moment. {SIGNAL}", calls=[calls("echo", text="a")]), "Done."
    )
    async with chat_server(tmp_path, model, tools=[echo_tool()]) as server:
        asked = await server.asked()
        signal = {"turn": 0, "signal_type": "need_turn", "reason": "to look", "confidence": 0.9}
        assert (await got(server.me, asked.run_id))["signals"] == [signal]
        assert [event.data for event in asked.events if event.type == "signal"] == [signal]


async def test_a_run_that_waits_names_its_review_and_why(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await server.asked(limits={"max_iterations": 4}, on_limit="review")
        shown = await got(server.me, asked.run_id)
        assert (shown["review_id"], shown["reason"]) == ("review:1", "Iteration limit reached (4/4).")
        assert shown["grants"] == []
        (paused,) = (event for event in asked.events if event.type == "paused")
        assert paused.data["why"] == "Iteration limit reached (4/4)."
        body = {"decision": "approved", "grant": {"turns": 5, "seconds": 30}, "why": "nearly there"}
        await server.me.post(f"/api/reviews/{asked.run_id}/review:1/decide", json=body)
        rest = await server.rest(asked.run_id, asked.events[-1].id)
        shown = await got(server.me, asked.run_id)
        assert (shown["review_id"], shown["outcome"]) == (None, "completed")
        assert shown["reason"] == "The agent finished by itself, inside its budget."
        (grant,) = shown["grants"]
        assert grant.pop("at_s") >= 0
        assert grant == {"added": {"turns": 5, "seconds": 30.0}, "by": "ana", "why": "nearly there"}
        (granted,) = (event for event in rest if event.type == "grant")
        assert granted.data == grant


async def test_a_run_that_goes_on_has_no_reason_yet(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked()
        record = await server.store.record(asked.run_id)
        async with chat_server(tmp_path, recovers=False) as other:
            await other.store.append(record[:3])
            shown = await got(other.me, asked.run_id)
            assert (shown["reason"], shown["outcome"], shown["findings"]) == (None, None, [])


# ── reviews ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("D5")
async def test_a_review_says_of_which_question_it_is_and_how_often_changes_were_asked_for(
    tmp_path: Path,
) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await server.asked("Where is it?", limits={"max_iterations": 2}, on_limit="review")
        body = {"decision": "needs_changes", "feedback": "Look in docs/.", "grant": {"turns": 1}}
        await server.me.post(f"/api/reviews/{asked.run_id}/review:1/decide", json=body)
        await server.rest(asked.run_id, asked.events[-1].id)
        listed = (await server.me.get("/api/reviews")).json()
        assert [(one["review_id"], one["times_in_a_row"]) for one in listed] == [
            ("review:2", 1),
            ("review:1", 0),
        ]
        for one in listed:
            assert (one["question"], one["conversation_id"]) == ("Where is it?", asked.conversation_id)
        one = (await server.me.get(f"/api/reviews/{asked.run_id}/review:2")).json()
        assert one == listed[0]
