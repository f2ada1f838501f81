"""Conversations over the interface: listed, read, branched, deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_server import PacedModel, chat_server, start

from endstop.ports import TextPiece
from endstop.testing import ScriptedModel


async def test_a_conversation_is_shown_with_what_was_said_in_it(tmp_path: Path) -> None:
    model = ScriptedModel("In login.py.", "Everybody.")
    async with chat_server(tmp_path, lambda: model) as server:
        first = await server.asked("Where is login?")
        second = await server.asked("Who calls it?", conversation_id=first.conversation_id)
        told = (await server.me.get(f"/api/conversations/{first.conversation_id}")).json()
        assert told["title"] == "Where is login?"
        assert told["run_ids"] == [first.run_id, second.run_id]
        exchanges = [(one["question"], one["answer"]) for one in told["exchanges"]]
        assert exchanges == [("Where is login?", "In login.py."), ("Who calls it?", "Everybody.")]
        last = await server.me.get(f"/api/conversations/{first.conversation_id}", params={"limit": 1})
        assert [one["run_id"] for one in last.json()["exchanges"]] == [second.run_id]
        (listed,) = (await server.me.get("/api/conversations")).json()
        assert listed == {name: value for name, value in told.items() if name != "exchanges"}


async def test_a_run_under_way_has_no_answer_yet(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="Half"))
    async with chat_server(tmp_path, lambda: model) as server:
        run_id = await start(server)
        (conversation,) = await server.store.conversations()
        url = f"/api/conversations/{conversation.id}"
        (exchange,) = (await server.me.get(url)).json()["exchanges"]
        assert (exchange["phase"], exchange["answer"]) == ("RUNNING", None)
        refused = await server.me.delete(url)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "run_state")
        await server.me.post(f"/api/runs/{run_id}/cancel")
        await server.runner.wait(run_id)
        assert (await server.me.delete(url)).status_code == 204


async def test_a_conversation_branches_after_one_of_its_runs(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        first = await server.asked()
        await server.asked("And then?", conversation_id=first.conversation_id)
        url = f"/api/conversations/{first.conversation_id}"
        answer = await server.me.post(f"{url}/branch", json={"after_run": first.run_id})
        assert answer.status_code == 201
        branch = answer.json()
        assert branch["run_ids"] == [first.run_id]
        assert branch["branch_of"] == first.conversation_id
        other = await server.asked("Or else?", conversation_id=branch["id"])
        told = (await server.me.get(f"/api/conversations/{branch['id']}")).json()
        assert told["run_ids"] == [first.run_id, other.run_id]
        wrong = await server.me.post(f"{url}/branch", json={"after_run": other.run_id})
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (404, "unknown_run")


async def test_a_conversation_that_is_deleted_leaves_its_runs(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked()
        url = f"/api/conversations/{asked.conversation_id}"
        assert (await server.me.delete(url)).status_code == 204
        assert (await server.me.get(url)).status_code == 404
        assert (await server.me.delete(url)).status_code == 404
        assert (await server.me.get("/api/conversations")).json() == []
        shown = (await server.me.get(f"/api/runs/{asked.run_id}")).json()
        assert shown["conversation_id"] is None
        refused = await server.me.post(
            "/api/oracle/query", json={"query": "And?", "follows_run": asked.run_id}
        )
        assert refused.status_code == 409


@pytest.mark.guarantee("I6")
async def test_a_conversation_that_is_not_yours_is_not_there(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked()
        for method, path, body in (
            ("GET", "", None),
            ("DELETE", "", None),
            ("POST", "/branch", {"after_run": "x"}),
        ):
            mine = await server.other.request(
                method, f"/api/conversations/{asked.conversation_id}{path}", json=body
            )
            none = await server.other.request(method, f"/api/conversations/nowhere{path}", json=body)
            assert mine.status_code == none.status_code == 404
            assert mine.text.replace(asked.conversation_id, "ID") == none.text.replace("nowhere", "ID")
        assert (await server.other.get("/api/conversations")).json() == []
