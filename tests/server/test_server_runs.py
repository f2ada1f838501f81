"""Runs over the interface: limits and grants, cancelling, resuming, listing, reading."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import Asked, PacedModel, busy_model, chat_server, heard, start, until, watch

from endstop.events.audit import audit
from endstop.events.codec import read_record
from endstop.kernel.review import RunPhase
from endstop.ports import ReplyEnded, TextPiece, ToolRequest
from endstop.server.rate import QueryLimits
from endstop.testing import ScriptedModel, calls, echo_tool


def system_types(events: list[Any]) -> list[str]:
    return [event.data["system_type"] for event in events if event.type == "system"]


@pytest.mark.guarantee("I2", "D3", "A9")
async def test_a_query_over_its_limit_warns_says_so_is_done_and_goes_on_with_a_grant(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        limits = {"max_iterations": 4, "soft_warning_percent": 50}
        asked = await server.asked(limits=limits, on_limit="review")
        assert system_types(asked.events) == ["limit_warning", "limit_reached"]
        assert asked.types()[-1] == "done"
        warning = next(event for event in asked.events if event.type == "system")
        assert warning.data["metadata"] == {
            "current_value": 2,
            "limit_value": 4,
            "percent": 50.0,
            "limit_type": "turns",
        }
        reached = [event for event in asked.events if event.type == "system"][-1]
        assert str(reached.data["system_message"]).startswith(
            "Iteration limit reached (4/4). What was gathered"
        )
        assert reached.data["metadata"] == {
            "current_value": 4,
            "limit_value": 4,
            "percent": 100.0,
            "limit_type": "turns",
        }
        done = asked.events[-1]
        assert done.data["outcome"] == "under_review"
        shown = (await server.me.get(f"/api/runs/{asked.run_id}")).json()
        assert (shown["phase"], shown["outcome"]) == ("BUDGET_REVIEW", None)
        assert shown["meters"]["turns"] == {
            "used": 4,
            "limit": 4,
            "percent": 100.0,
            "warn_percent": 50.0,
            "reserve": 1,
        }
        assert "4" in shown["waits_for"]
        answer = await server.me.post(f"/api/runs/{asked.run_id}/resume", json={"grant": {"turns": 5}})
        assert answer.status_code == 202, answer.text
        rest = await server.rest(asked.run_id, done.id)
        assert rest[-1].data["outcome"] == "completed"
        text = heard([*asked.events, *rest]).content
        assert text == "".join(f"Step {number}. " for number in range(6)) + "Done."
        report = (await server.me.get(f"/api/runs/{asked.run_id}/audit")).json()
        assert report["holds"], report
        whole = heard(await server.rest(asked.run_id))
        assert whole.content == text
        assert [kind for kind, _ in whole.others].count("done") == 1
        (grant,) = await server.store.grants(asked.run_id)
        assert (grant.by, dict(grant.amounts)) == ("ana", {"turns": "5"})


async def test_at_its_limit_a_run_ends_with_what_there_is_unless_told_otherwise(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await server.asked(limits={"max_iterations": 3})
        assert system_types(asked.events)[-1] == "limit_reached"
        assert asked.events[-1].data["outcome"] in ("completed", "forced")
        refused = await server.me.post(f"/api/runs/{asked.run_id}/resume", json={"grant": {"turns": 5}})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "run_state")


@pytest.mark.guarantee("I3")
async def test_settings_hold_for_the_next_run_and_never_for_one_under_way(tmp_path: Path) -> None:
    model = PacedModel(*(piece for _ in range(3) for piece in _echo()), TextPiece(text="Done."), ReplyEnded())
    async with chat_server(tmp_path, lambda: model, tools=[echo_tool()]) as server:
        run_id = await start(server)
        changed = await server.me.put("/api/settings/agent-config", json={"max_iterations": 1})
        assert changed.status_code == 200
        for _ in range(8):
            model.step()
        run = await server.runner.wait(run_id)
        assert run.usage.turns == 4
        assert (await server.me.get(f"/api/runs/{run_id}")).json()["meters"]["turns"]["limit"] == 30
        async with chat_server(tmp_path, busy_model, tools=[echo_tool()], store=server.store) as later:
            asked = await later.asked()
            assert (await later.me.get(f"/api/runs/{asked.run_id}")).json()["meters"]["turns"]["limit"] == 1


def _echo() -> list[Any]:
    _echo_count.append(None)
    text = json.dumps({"text": str(len(_echo_count))})
    return [ToolRequest(id=f"call{len(_echo_count)}", tool="echo", arguments=text), ReplyEnded()]


_echo_count: list[None] = []


@pytest.mark.guarantee("D10")
async def test_cancelling_cuts_the_reply_and_keeps_what_was_said(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="Half of"), TextPiece(text=" it"), ReplyEnded())
    async with chat_server(tmp_path, lambda: model) as server:
        run_id = await start(server)
        told, watching = watch(server, run_id)
        model.step()
        await until(lambda: told and told[-1].type == "content")
        answer = await server.me.post(f"/api/runs/{run_id}/cancel")
        assert answer.json() == {"run_id": run_id, "is_done": True}
        await watching
        assert told[-1].data["outcome"] == "cancelled"
        assert told[-1].data["reason"] == "Cancelled by ana."
        assert heard(told).content == "Half of"
        again = await server.me.post(f"/api/runs/{run_id}/cancel", json={})
        assert again.status_code == 409


@pytest.mark.guarantee("D10")
async def test_cancelling_after_the_turn_lets_the_reply_come_to_its_end(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="All of"), TextPiece(text=" it"), *_echo(), *_echo())
    async with chat_server(tmp_path, lambda: model, tools=[echo_tool()]) as server:
        run_id = await start(server)
        told, watching = watch(server, run_id)
        model.step()
        await until(lambda: told and told[-1].type == "content")
        answer = await server.me.post(f"/api/runs/{run_id}/cancel", json={"after_turn": True})
        assert answer.status_code == 200
        for _ in range(3):
            model.step()
        await watching
        assert told[-1].data["outcome"] == "cancelled"
        assert heard(told).content == "All of it"


async def test_a_run_of_another_process_is_asked_to_end(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="Half of"), TextPiece(text=" it"))
    async with chat_server(tmp_path, lambda: model) as worker:
        run_id = await start(worker)
        while (await worker.store.run(run_id)).beat_at is None:  # else it seems to be nobody's
            await asyncio.sleep(0.01)
        async with chat_server(tmp_path, store=worker.store, recovers=False) as server:
            answer = await server.me.post(f"/api/runs/{run_id}/cancel")
            assert answer.json() == {"run_id": run_id, "is_done": False}
            assert (await worker.runner.wait(run_id)).outcome is not None


async def test_runs_are_listed_newest_first_page_by_page(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        ids = [(await server.asked(f"Question {number}")).run_id for number in range(5)]
        page = (await server.me.get("/api/runs", params={"limit": 2})).json()
        seen = [run["run_id"] for run in page["runs"]]
        while page["next"] is not None:
            page = (await server.me.get("/api/runs", params={"limit": 2, "cursor": page["next"]})).json()
            seen += [run["run_id"] for run in page["runs"]]
        assert seen == ids[::-1]
        assert (await server.other.get("/api/runs")).json() == {"runs": [], "next": None}


async def test_runs_are_found_by_phase_agent_project_words_and_ending(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked("Where is the LOGIN?")
        await server.asked("And the cart?")

        async def found(**sought: object) -> int:
            answer = await server.me.get("/api/runs", params=sought)  # type: ignore[arg-type]
            assert answer.status_code == 200, answer.text
            return len(answer.json()["runs"])

        assert await found(text="login") == 1
        assert (
            await found(phase="ENDED") == await found(ended="completed") == await found(agent="scripted") == 2
        )
        assert await found(phase=["RUNNING", "AWAIT_USER"]) == await found(ended="failed") == 0
        assert await found(agent="other") == await found(project="/elsewhere") == 0
        assert await found(project=(await server.store.run(asked.run_id)).project) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": "x"},
        {"phase": "LOST"},
        {"ended": "well"},
        {"cursor": "x"},
        {"cursor": "1e9/x"},
    ],
)
async def test_a_list_is_not_asked_for_in_nonsense(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async with chat_server(tmp_path) as server:
        answer = await server.me.get("/api/runs", params=wrong)
        assert answer.status_code == 422
        assert next(iter(wrong)) in answer.json()["error"]["field"]


async def test_a_run_is_shown_with_its_answer_and_its_figures(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await server.asked()
        shown = (await server.me.get(f"/api/runs/{asked.run_id}")).json()
        assert (shown["outcome"], shown["answer"], shown["is_forced"]) == ("completed", "Done.", False)
        assert shown["turns"] == shown["meters"]["turns"]["used"] == 7
        assert shown["question"] == "Where is login?"
        assert shown["conversation_id"] == asked.conversation_id
        assert shown["is_left_open"] is False
        assert "user" not in shown
        assert shown["started_at"].endswith("Z")


async def test_what_no_utf8_can_carry_is_shown_all_the_same(tmp_path: Path) -> None:
    async with chat_server(tmp_path, lambda: ScriptedModel("Half \ud800 a character.")) as server:
        asked = await server.asked()
        assert heard(asked.events).content == "Half \ud800 a character."
        for path in ("", "/facts", "/timeline"):
            answer = await server.me.get(f"/api/runs/{asked.run_id}{path}")
            assert answer.status_code == 200
            assert "\\ud800" in answer.text


async def test_the_record_is_read_in_pages_and_as_a_file(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await server.asked()
        url = f"/api/runs/{asked.run_id}"
        facts: list[Any] = []
        after: int | None = -1
        while after is not None:
            page = (await server.me.get(f"{url}/facts", params={"after": after, "limit": 7})).json()
            facts += page["facts"]
            after = page["next_after"]
        assert [fact["seq"] for fact in facts] == list(range(len(facts)))
        exported = await server.me.get(f"{url}/export")
        assert exported.headers["content-disposition"] == f'attachment; filename="{asked.run_id}.jsonl"'
        record = read_record(exported.text.splitlines()).require()
        assert list(record) == await server.store.record(asked.run_id)
        assert len(record) == len(facts)
        assert audit(record)
        lines = (await server.me.get(f"{url}/timeline")).json()
        assert [line["seq"] for line in lines] == list(range(len(facts)))
        assert lines[0]["title"] == "Run started"
        told = (await server.me.get(f"{url}/explain")).json()
        assert told["headline"] == "Completed after 7 turns."


@pytest.mark.guarantee("I6")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("GET", "/stream", None),
        ("GET", "/facts", None),
        ("GET", "/timeline", None),
        ("GET", "/audit", None),
        ("GET", "/explain", None),
        ("GET", "/export", None),
        ("POST", "/cancel", {}),
        ("POST", "/resume", {}),
        ("POST", "/answer", {"answer": "yes"}),
    ],
)
async def test_what_is_not_yours_looks_like_what_is_not_there(
    tmp_path: Path, method: str, path: str, body: object
) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked()
        not_mine = await server.other.request(method, f"/api/runs/{asked.run_id}{path}", json=body)
        not_there = await server.other.request(method, f"/api/runs/run_000000000000{path}", json=body)
        assert not_mine.status_code == not_there.status_code == 404
        assert not_mine.text.replace(asked.run_id, "ID") == not_there.text.replace("run_000000000000", "ID")


async def test_a_question_follows_a_run_or_goes_on_in_a_conversation(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        first = await server.asked()
        second = await server.asked("And then?", conversation_id=first.conversation_id)
        third = await server.asked("Or else?", follows_run=first.run_id)
        assert second.conversation_id == first.conversation_id
        assert third.conversation_id != first.conversation_id
        fourth = await server.asked("So?", follows_run=third.run_id)
        assert fourth.conversation_id == third.conversation_id
        for wrong in ({"conversation_id": first.conversation_id}, {"follows_run": first.run_id}):
            answer = await server.other.post("/api/oracle/query", json={"query": "Mine?", **wrong})
            assert answer.status_code == 404
        both = {"conversation_id": first.conversation_id, "follows_run": first.run_id}
        answer = await server.me.post("/api/oracle/query", json={"query": "Both?", **both})
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "follows_run")


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "   "}, "query"),
        ({"query": 5}, "query"),
        ({"query": "x", "beside": 1}, "beside"),
        ({"query": "x", "project": "/nowhere/at/all"}, "project"),
        ({"query": "x", "limits": {"max_iterations": 0}}, "max_iterations"),
        ({"query": "x", "limits": {"max_iterations": True}}, "max_iterations"),
        ({"query": "x", "limits": {"nonsense": 1}}, "settings"),
        ({"query": "x", "on_limit": "explode"}, "on_limit"),
        ({"query": "x" * 200_001}, "query"),
        ({"query": "\ud800"}, "query"),
    ],
)
async def test_a_wrong_question_is_refused_and_nothing_is_kept(
    tmp_path: Path, body: dict[str, Any], field: str
) -> None:
    async with chat_server(tmp_path) as server:
        answer = await server.me.post(
            "/api/oracle/query", content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["field"] == field
        assert await server.store.runs() == []
        assert await server.store.conversations() == []


async def test_an_unknown_tree_is_not_there(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        answer = await server.me.post("/api/oracle/query", json={"query": "x", "tree": "../../etc/passwd"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_tree")


async def test_only_the_folders_that_were_named_can_be_asked_about(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    async with chat_server(tmp_path, allowed_projects=[inside]) as server:
        assert (await server.asked(project=str(inside))).types()[-1] == "done"
        for wrong in (outside, inside / "..", inside / "link"):
            answer = await server.me.post("/api/oracle/query", json={"query": "x", "project": str(wrong)})
            assert (answer.status_code, answer.json()["error"]["field"]) == (422, "project")


async def test_a_flood_of_questions_is_told_when_to_come_back(tmp_path: Path) -> None:
    async with chat_server(tmp_path, limits=QueryLimits(per_minute=2)) as server:
        for _ in range(2):
            await server.asked()
        refused = await server.me.post("/api/oracle/query", json={"query": "x"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many")
        assert int(refused.headers["retry-after"]) >= 1
        assert len(await server.store.conversations()) == 2
        other = await server.other.post("/api/oracle/query", json={"query": "x"})
        assert other.status_code == 200


async def test_an_agent_that_asks_the_user_goes_on_with_the_answer(tmp_path: Path) -> None:
    model = ScriptedModel(calls("await_user", message="Which one?"), "The second, then.")
    async with chat_server(tmp_path, lambda: model, awaits_user=True) as server:
        asked: Asked = await server.asked()
        done = asked.events[-1]
        assert (done.type, done.data["outcome"]) == ("done", "awaiting_user")
        assert done.data["question"] == "Which one?"
        for wrong in ({"answer": ""}, {}, {"answer": 5}):
            refused = await server.me.post(f"/api/runs/{asked.run_id}/answer", json=wrong)
            assert refused.status_code == 422
        answer = await server.me.post(f"/api/runs/{asked.run_id}/answer", json={"answer": "The second."})
        assert answer.status_code == 202, answer.text
        rest = await server.rest(asked.run_id, done.id)
        assert rest[-1].data["answer"] == "The second, then."
        again = await server.me.post(f"/api/runs/{asked.run_id}/answer", json={"answer": "The first."})
        assert again.status_code == 409


@pytest.mark.guarantee("D10", "A9")
async def test_a_server_that_starts_goes_on_with_the_runs_that_were_left_open(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="Half of"), TextPiece(text=" it"))
    async with chat_server(tmp_path, lambda: model) as server:
        run_id = await start(server)
        told, watching = watch(server, run_id)
        model.step()
        await until(lambda: told and told[-1].type == "content")
        await server.hub.stop(0.0)
        await watching
        store = server.store
    left = await store.run(run_id)
    assert left.phase is RunPhase.RUNNING
    async with chat_server(tmp_path, lambda: ScriptedModel("All of it."), store=store) as again:
        rest = await again.followed(run_id, told[-1].id)
        assert rest[-1].data["outcome"] == "completed"
        assert audit(await store.record(run_id))


async def test_a_run_whose_agent_cannot_be_made_anew_stays_as_it_is(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="Half of"))
    async with chat_server(tmp_path, lambda: model) as server:
        run_id = await start(server)
        await server.hub.stop(0.0)
        store = server.store
    async with chat_server(tmp_path, store=store, can_remake=False) as again:
        shown = (await again.me.get(f"/api/runs/{run_id}")).json()
        assert (shown["phase"], shown["is_left_open"]) == ("RUNNING", True)
        refused = await again.me.post(f"/api/runs/{run_id}/resume")
        assert refused.status_code == 409
        assert (await again.me.post(f"/api/runs/{run_id}/cancel")).json()["is_done"] is True


async def test_a_run_under_way_cannot_be_resumed(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="Half of"))
    async with chat_server(tmp_path, lambda: model) as server:
        run_id = await start(server)
        assert (await server.me.post(f"/api/runs/{run_id}/resume", json={})).status_code == 409
        await server.hub.stop(0.0)
