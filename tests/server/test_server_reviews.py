"""Reviews and notifications: who decides, what counts, who hears of it (D3, D4)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from chat_server import Asked, ChatServer, PacedModel, busy_model, chat_server, heard, start, until

from endstop.ports import ReplyEnded, TextPiece
from endstop.server.notices import Notice, NoticePlace, follow_notices
from endstop.testing import ScriptedModel, calls, echo_tool


async def paused(server: ChatServer) -> Asked:
    asked = await server.asked(limits={"max_iterations": 4}, on_limit="review")
    assert asked.events[-1].data["outcome"] == "under_review"
    return asked


def url(asked: Asked) -> str:
    return f"/api/reviews/{asked.run_id}/{asked.events[-1].data['review_id']}"


@pytest.mark.guarantee("D3")
async def test_a_review_says_why_what_it_was_doing_and_what_it_spent(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await paused(server)
        review = (await server.me.get(url(asked))).json()
        assert review["why"] == "Iteration limit reached (4/4)."
        assert "echo" in review["doing"]
        assert "4 turns" in review["spent"]
        assert (review["decision"], review["origin"]) == (None, "RUNNING")
        assert (await server.me.get("/api/reviews")).json() == [review]
        assert (await server.other.get("/api/reviews")).json() == []


@pytest.mark.guarantee("D4")
async def test_an_approved_run_goes_on_with_its_grant(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await paused(server)
        body = {"decision": "approved", "grant": {"turns": 5}, "why": "nearly there"}
        decided = (await server.me.post(f"{url(asked)}/decide", json=body)).json()
        assert (decided["decision"], decided["is_resumed"], decided["why_not"]) == ("approved", True, None)
        rest = await server.rest(asked.run_id, asked.events[-1].id)
        assert rest[-1].data["outcome"] == "completed"
        (grant,) = await server.store.grants(asked.run_id)
        assert (grant.by, grant.why) == ("ana", "nearly there")
        again = await server.me.post(f"{url(asked)}/decide", json=body)
        assert (again.status_code, again.json()["error"]["code"]) == (409, "run_state")
        assert (await server.me.get(url(asked))).json()["decided_by"] == "ana"


@pytest.mark.guarantee("D4")
async def test_changes_that_are_asked_for_reach_the_agent(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await paused(server)
        body = {"decision": "needs_changes", "feedback": "Look in docs/.", "grant": {"turns": 5}}
        decided = await server.me.post(f"{url(asked)}/decide", json=body)
        assert decided.json()["decision"] == "needs_changes"
        rest = await server.rest(asked.run_id, asked.events[-1].id)
        assert heard(rest).others[-1][1]["outcome"] == "completed"
        record = (await server.me.get(f"/api/runs/{asked.run_id}/export")).text
        assert "Look in docs/." in record


@pytest.mark.guarantee("D4")
async def test_a_rejected_run_ends_as_abandoned(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await paused(server)
        body = {"decision": "rejected", "why": "not worth it"}
        decided = (await server.me.post(f"{url(asked)}/decide", json=body)).json()
        assert (decided["decision"], decided["is_resumed"]) == ("rejected", False)
        assert decided["run"]["phase"] == "ENDED"
        resumed, done = await server.rest(asked.run_id, asked.events[-1].id)
        assert (resumed.type, done.data["outcome"]) == ("resumed", "abandoned")


async def test_a_decision_counts_though_the_run_cannot_go_on_here(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await paused(server)
        async with chat_server(tmp_path, store=server.store, can_remake=False, recovers=False) as other:
            body = {"decision": "approved", "grant": {"turns": 5}}
            decided = (await other.me.post(f"{url(asked)}/decide", json=body)).json()
            assert decided["is_resumed"] is False
            assert "cannot be made anew" in decided["why_not"]
            assert decided["run"]["is_left_open"] is True


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"decision": "approved"}, "grant"),
        ({"decision": "approved", "grant": {"turns": -1}}, "turns"),
        ({"decision": "approved", "grant": {"turns": True}}, "grant.turns"),
        ({"decision": "approved", "grant": {"turns": 1}, "feedback": "x"}, "feedback"),
        ({"decision": "approved", "grant": {"cost_usd": "much"}}, "cost_usd"),
        ({"decision": "needs_changes", "grant": {"turns": 1}}, "feedback"),
        ({"decision": "rejected", "grant": {"turns": 1}}, "grant"),
        ({"decision": "perhaps"}, "decision"),
        ({}, "decision"),
    ],
)
async def test_a_decision_that_makes_no_sense_changes_nothing(
    tmp_path: Path, body: dict[str, Any], field: str
) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await paused(server)
        answer = await server.me.post(f"{url(asked)}/decide", json=body)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
        assert (await server.me.get(url(asked))).json()["decision"] is None


async def test_a_grant_of_nothing_or_past_the_cap_is_refused(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await paused(server)
        for grant in ({}, {"turns": 10_000}, {"cost_usd": "1"}):
            body = {"decision": "approved", "grant": grant}
            answer = await server.me.post(f"{url(asked)}/decide", json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "grant_refused")


@pytest.mark.guarantee("I6")
async def test_a_review_that_is_not_yours_is_not_there(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        asked = await paused(server)
        assert (await server.other.get(url(asked))).status_code == 404
        body = {"decision": "rejected"}
        assert (await server.other.post(f"{url(asked)}/decide", json=body)).status_code == 404
        assert (await server.me.get(f"/api/reviews/{asked.run_id}/review:99")).status_code == 404


async def test_a_review_brings_what_the_detectors_found(tmp_path: Path) -> None:
    model = ScriptedModel(calls("echo", text="the same"))
    async with chat_server(tmp_path, lambda: model, tools=[echo_tool()]) as server:
        asked = await server.asked(on_limit="review")
        review = (await server.me.get(url(asked))).json()
        finding = review["findings"][-1]
        assert finding["times"] > 1
        assert "echo" in finding["evidence"][-1]
        (told,) = (event for event in asked.events if event.type == "system")
        assert told.data["system_type"] == "no_progress"


async def test_reviews_that_wait_are_listed_first(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        first, second = await paused(server), await paused(server)
        await server.me.post(f"{url(second)}/decide", json={"decision": "rejected"})
        listed = (await server.me.get("/api/reviews")).json()
        assert [one["run_id"] for one in listed] == [first.run_id, second.run_id]
        only = (await server.me.get("/api/reviews", params={"is_open": "false"})).json()
        assert [one["run_id"] for one in only] == [second.run_id]


# ── notifications ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_user_hears_of_reviews_questions_and_endings_of_their_own_runs(tmp_path: Path) -> None:
    async with chat_server(tmp_path, busy_model, tools=[echo_tool()]) as server:
        mine, listening = listen(server, "ana")
        theirs, other = listen(server, "bob")
        await until(lambda: server.hub.measures.open_streams == 2)
        asked = await paused(server)
        await until(lambda: len(mine) == 1)
        await server.me.post(f"{url(asked)}/decide", json={"decision": "rejected"})
        await until(lambda: len(mine) == 2)
        kinds = [(notice.data["type"], notice.data["run_id"]) for notice in mine]
        assert kinds == [("review.requested", asked.run_id), ("run.ended", asked.run_id)]
        assert mine[0].data["review_id"] == "review:1"
        assert mine[1].data["outcome"] == "abandoned"
        assert theirs == []
        server.hub.close()
        await asyncio.gather(listening, other)


async def test_a_question_of_an_agent_is_a_notification(tmp_path: Path) -> None:
    model = ScriptedModel(calls("await_user", message="Which one?"))
    async with chat_server(tmp_path, lambda: model, awaits_user=True) as server:
        mine, listening = listen(server, "ana")
        await until(lambda: server.hub.measures.open_streams == 1)
        await server.asked()
        await until(lambda: mine)
        assert (mine[0].data["type"], mine[0].data["question"]) == ("user.awaited", "Which one?")
        server.hub.close()
        await listening


async def test_notifications_go_on_after_the_last_id(tmp_path: Path) -> None:
    async with chat_server(tmp_path) as server:
        mine, listening = listen(server, "ana")
        await until(lambda: server.hub.measures.open_streams == 1)
        runs = [(await server.asked(f"Question {number}")).run_id for number in range(4)]
        await until(lambda: len(mine) == 4)
        assert [notice.data["run_id"] for notice in mine] == runs
        for cut, notice in enumerate(mine[:-1]):
            place = NoticePlace.read(str(notice.place))
            assert place == notice.place
            rest, again = listen(server, "ana", after=place)
            await until(lambda: len(rest) == 3 - cut)  # noqa: B023 - waited for at once
            assert rest == mine[cut + 1 :]
            again.cancel()
        server.hub.close()
        await listening


async def test_notifications_come_over_http_with_signs_of_life(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="Done."), ReplyEnded())
    async with chat_server(tmp_path, lambda: model, heartbeat_s=0.05) as server:
        run_id = await start(server)
        following = asyncio.create_task(server.me.get("/api/notifications/stream"))
        await until(lambda: server.hub.measures.open_streams == 1)
        await asyncio.sleep(0.2)
        model.step()
        model.step()
        await server.runner.wait(run_id)
        await asyncio.sleep(0.5)
        server.hub.close()
        answer = await following
        assert ": alive" in answer.text
        assert answer.text.count('"type":"run.ended"') == 1


@pytest.mark.parametrize("wrong", ["x", "1/2", "1/x/run", "/1/run"])
async def test_an_id_of_another_stream_is_refused(tmp_path: Path, wrong: str) -> None:
    async with chat_server(tmp_path) as server:
        answer = await server.me.get("/api/notifications/stream", headers={"Last-Event-ID": wrong})
        assert answer.status_code == 422


def listen(
    server: ChatServer, user: str, after: NoticePlace | None = None
) -> tuple[list[Notice], asyncio.Task[None]]:
    """Listen as a user; what came so far, and who listens."""
    import time

    came: list[Notice] = []
    place = NoticePlace(time=time.time()) if after is None else after

    async def work() -> None:
        async for notice in follow_notices(server.hub, server.store, user, place):
            if notice is not None:
                came.append(notice)  # noqa: PERF401 - seen while it grows

    return came, asyncio.create_task(work())
