"""Streams: every word once, wherever a client was cut off, whatever became of the reply (I1, H3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from random import Random

import pytest
from chat_server import ChatServer, PacedModel, chat_server, heard, read_sse, start, until, watch

from endstop.errors import ModelOverloadedError
from endstop.ports import ModelRequest, Piece, ReplyEnded, TextPiece, ThoughtPiece, ToolRequest
from endstop.server.stream import Cursor, StreamEvent
from endstop.store import open_store
from endstop.testing import ScriptedModel, calls, echo_tool, fails, reply
from endstop.testing.replies import ScriptedReply

SIGNAL = '<signal type="TASK_COMPLETE"><confidence>0.9</confidence></signal>'
RICH: tuple[ScriptedReply | str, ...] = (
    reply(text="Let me look. ", thought="Login, then.", calls=[calls("echo", text="a")]),
    fails(ModelOverloadedError("busy"), after="It is in lo"),
    reply(text=f"It is in login.py.{SIGNAL} Really.", thought="Found it."),
)


def rich_model() -> ScriptedModel:
    return ScriptedModel(*RICH, piece_chars=4)


@pytest.mark.guarantee("I1")
async def test_a_question_is_answered_with_its_chunks_up_to_done(tmp_path: Path) -> None:
    async with chat_server(tmp_path, rich_model, tools=[echo_tool()]) as server:
        asked = await server.asked()
        told = heard(asked.events)
        assert told.content == "Let me look. It is in login.py. Really."
        assert told.thinking == "Login, then.Found it."
        kinds = [kind for kind, _ in told.others]
        assert kinds[:2] == ["budget", "context_update"]
        assert kinds[-1] == "done"
        assert kinds.count("done") == kinds.count("tool_call") == kinds.count("tool_result") == 1
        assert told.others[-1][1]["answer"] == "It is in login.py. Really."
        assert (await server.store.run(asked.run_id)).user == "ana"


@pytest.mark.guarantee("I1")
async def test_a_client_that_comes_back_with_any_id_gets_exactly_the_rest(tmp_path: Path) -> None:
    async with chat_server(tmp_path, rich_model, tools=[echo_tool()]) as server:
        asked = await server.asked()
        whole = heard(await server.rest(asked.run_id))
        assert whole == heard(asked.events)
        for cut, event in enumerate(asked.events[:-1]):
            rest = await server.rest(asked.run_id, event.id)
            assert heard([*asked.events[: cut + 1], *rest]) == whole, event.id
        ids = [event.id for event in asked.events]
        assert len(set(ids)) == len(ids)


PACED = (
    ThoughtPiece(text="Hm. "),
    TextPiece(text="First "),
    ThoughtPiece(text="And then?"),
    TextPiece(text="this, <sig"),
    TextPiece(text="nal> "),
    ToolRequest(id="1", tool="echo", arguments='{"text": "a"}'),
    ReplyEnded(),
    TextPiece(text="Then "),
    ModelOverloadedError("busy"),
    ThoughtPiece(text="Again."),
    TextPiece(text="Then that."),
    ReplyEnded(),
)


@pytest.mark.guarantee("I1")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_client_cut_off_at_any_piece_goes_on_live_without_loss_or_repeats(
    tmp_path: Path, kind: str
) -> None:
    store = None if kind == "memory" else await open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    model = PacedModel(*PACED)  # type: ignore[arg-type]
    async with chat_server(tmp_path, lambda: model, tools=[echo_tool()], store=store) as server:
        run_id = await start(server)
        first, watching = watch(server, run_id)
        tails: list[tuple[list[StreamEvent], asyncio.Task[list[StreamEvent]]]] = []
        for _ in PACED:
            seen = len(first)
            model.step()
            await asyncio.sleep(0.03)
            for cut in range(seen, len(first)):
                before = first[: cut + 1]
                tail = asyncio.create_task(server.followed(run_id, before[-1].id))
                tails.append((before, tail))
        await watching
        whole = heard(first)
        assert whole.content == "First this, <signal> Then that."
        assert whole.thinking == "Hm. And then?Again."
        assert len(tails) > 4
        for before, tail in tails:
            if before[-1].type != "done":
                assert heard([*before, *await tail]) == whole, before[-1].id
            else:
                tail.cancel()
        for cut, event in enumerate(first[:-1]):
            rest = await server.followed(run_id, event.id)
            assert heard([*first[: cut + 1], *rest]) == whole, event.id
    if store is not None:
        await store.close()


class HesitantModel(ScriptedModel):
    """Stops to think now and then."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        pauses = Random(len(self.requests))
        async for piece in super().stream(request):
            if pauses.random() < 0.3:
                await asyncio.sleep(pauses.random() * 0.1)
            yield piece


@pytest.mark.guarantee("I1", "H3")
async def test_clients_that_come_and_go_as_they_like_all_know_the_same_in_the_end(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    make = lambda: HesitantModel(*RICH, piece_chars=3)  # noqa: E731 - short
    async with chat_server(tmp_path, make, tools=[echo_tool()], store=store) as server:
        runs = [await start(server) for _ in range(4)]
        came = await asyncio.gather(
            *(_comes_and_goes(server, run_id, Random(seed)) for run_id in runs for seed in range(5))
        )
        for place, events in enumerate(came):
            assert heard(events) == heard(await server.followed(runs[place // 5]))
        assert any("+" in event.id for events in came for event in events), "nothing was live"
        assert server.hub.measures.open_streams == 0
    await store.close()


async def _comes_and_goes(server: ChatServer, run_id: str, chance: Random) -> list[StreamEvent]:
    """Listens for a while, is gone, comes back with its last id; up to the end."""
    events: list[StreamEvent] = []
    while not events or events[-1].type != "done":
        telling = await server.hub.telling(run_id, Cursor.read(events[-1].id if events else None))
        async with aclosing(server.hub.follow(run_id, telling)) as stream:
            left = chance.randint(1, 8)
            async for event in stream:
                if event is not None:
                    events.append(event)
                    left -= 1
                if left == 0:
                    break
        await asyncio.sleep(chance.random() * 0.02)
    return events


async def test_live_text_comes_before_the_reply_has_ended(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="One "), TextPiece(text="two"), ReplyEnded())
    async with chat_server(tmp_path, lambda: model) as server:
        run_id = await start(server)
        first, watching = watch(server, run_id)
        model.step()
        await until(lambda: first and first[-1].type == "content")
        assert first[-1].data == {"content": "One "}
        facts = (await server.store.run(run_id)).facts
        assert first[-1].id == f"{facts - 1}+4"
        model.step()
        await until(lambda: first[-1].data == {"content": "two"})
        assert first[-1].id == f"{facts - 1}+7"
        model.step()
        await watching
        assert [event.data["content"] for event in first if event.type == "content"] == ["One ", "two"]


async def test_a_try_that_failed_is_taken_back_before_the_next_one(tmp_path: Path) -> None:
    async with chat_server(
        tmp_path, lambda: ScriptedModel(fails(ModelOverloadedError("busy"), after="It is"), "There.")
    ) as server:
        asked = await server.asked()
        kinds = asked.types()
        assert kinds.index("content") < kinds.index("retract") < len(kinds) - 1 - kinds[::-1].index("content")
        (taken_back,) = (event for event in asked.events if event.type == "retract")
        assert taken_back.data == {"turn": 0, "chars": 5, "thinking_chars": 0}
        assert heard(asked.events).content == "There."


async def test_a_reply_whose_process_died_is_taken_back(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    model = PacedModel(TextPiece(text="Half of"), TextPiece(text=" it"))
    async with chat_server(tmp_path, lambda: model, store=store) as server:
        run_id = await start(server)
        first, watching = watch(server, run_id)
        model.step()
        await until(lambda: first and first[-1].type == "content")
        watching.cancel()
        record = await store.record(run_id)
        await server.hub.stop(0.0)
    other = await open_store(f"sqlite:///{tmp_path / 'other.db'}")  # where nothing was saved at the end
    await other.append(record)
    async with chat_server(tmp_path, lambda: ScriptedModel("All of it."), store=other) as server:
        rest = await server.followed(run_id, first[-1].id)
        assert rest[0].type == "retract"
        assert rest[0].data == {"turn": 0, "chars": 7, "thinking_chars": 0}
        assert heard([*first, *rest]).content == "All of it."
        again = await server.followed(run_id, rest[0].id)
        assert again == rest[1:]
    await store.close()
    await other.close()


@pytest.mark.guarantee("H3")
async def test_a_slow_client_slows_nobody_and_misses_nothing(tmp_path: Path) -> None:
    replies = [
        reply(text=f"Step {number}. ", calls=[calls("echo", text=str(number))]) for number in range(25)
    ]
    make = lambda: ScriptedModel(*replies, "Done.", piece_chars=2)  # noqa: E731 - short
    async with chat_server(tmp_path, make, tools=[echo_tool()]) as server:
        run_id = await start(server, limits={"max_iterations": 30})
        slow = server.hub.follow(run_id, await server.hub.telling(run_id, Cursor()))
        taken = [await anext(slow)]
        quick = await server.followed(run_id)
        assert (await server.runner.wait(run_id)).outcome is not None
        taken += [event async for event in slow]
        assert heard([event for event in taken if event is not None]) == heard(quick)


async def test_a_run_outlives_its_connection(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="Still here."), ReplyEnded())
    async with chat_server(tmp_path, lambda: model) as server:
        run_id = await start(server)
        first, watching = watch(server, run_id)
        await until(lambda: first)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        assert server.hub.measures.open_streams == 0
        model.step()
        model.step()
        assert (await server.runner.wait(run_id)).answer == "Still here."


async def test_a_run_of_another_process_is_followed_by_its_record(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    mine, theirs = await open_store(url), await open_store(url)
    model = PacedModel(TextPiece(text="From "), TextPiece(text="afar."), ReplyEnded())
    async with (
        chat_server(tmp_path, lambda: model, store=theirs) as worker,
        chat_server(tmp_path, store=mine, recovers=False) as server,
    ):
        run_id = await start(worker)
        following = asyncio.create_task(server.followed(run_id))
        for _ in range(3):
            model.step()
        assert heard(await following).content == "From afar."
    await mine.close()
    await theirs.close()


async def test_a_silent_stream_gives_signs_of_life(tmp_path: Path) -> None:
    model = PacedModel(ReplyEnded())
    async with chat_server(tmp_path, lambda: model, heartbeat_s=0.02) as server:
        run_id = await start(server)
        stream = server.hub.follow(run_id, await server.hub.telling(run_id, Cursor()))
        seen = 0
        async for event in stream:
            seen += event is None
            if seen == 3:
                break
        await stream.aclose()
        model.step()


async def test_streams_end_when_the_server_is_to_end(tmp_path: Path) -> None:
    model = PacedModel(TextPiece(text="Half "), TextPiece(text="of it."), ReplyEnded())
    async with chat_server(tmp_path, lambda: model) as server:
        run_id = await start(server)
        first, watching = watch(server, run_id)
        model.step()
        await until(lambda: first and first[-1].type == "content")
        await server.hub.stop(0.0)
        await asyncio.wait_for(watching, 2)
        assert first[-1].type != "done"
        assert (await server.store.run(run_id)).phase.value == "RUNNING"


@pytest.mark.parametrize("wrong", ["x", "1.2.3", "-1", "12+", "12+3~", "9" * 30, "99999", "99999+4", "١"])
async def test_an_id_that_cannot_be_is_refused(tmp_path: Path, wrong: str) -> None:
    async with chat_server(tmp_path) as server:
        asked = await server.asked()
        answer = await server.me.get(f"/api/runs/{asked.run_id}/stream", params={"after": wrong})
        assert answer.status_code == 422
        assert answer.json()["error"]["field"] == "Last-Event-ID"


async def test_the_id_can_come_in_the_address_too_with_a_plus_that_was_not_escaped(tmp_path: Path) -> None:
    async with chat_server(tmp_path, lambda: ScriptedModel("A long answer.")) as server:
        asked = await server.asked()
        whole = next(event for event in asked.events if event.type == "content")
        last = f"{int(whole.id.partition('.')[0]) - 1}+7"
        answer = await server.me.get(f"/api/runs/{asked.run_id}/stream?after={last}")
        assert answer.status_code == 200
        assert read_sse(answer.text)[0].data == {"content": "answer."}
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-type"].startswith("text/event-stream")
