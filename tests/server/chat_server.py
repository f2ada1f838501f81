"""A whole server on a store of its own, with a model that says what it is told, and two users who call it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx
from fastapi import FastAPI

from endstop.app import App, Config, SystemClock
from endstop.events.facts import RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.loop.agent import Agent, Retries
from endstop.ports import Clock, Model, ModelRequest, Piece, ReplyEnded, Tool, WholeStore
from endstop.runner import Runner
from endstop.server.access import Access, Caller
from endstop.server.hub import Hub
from endstop.server.questions import Wanted
from endstop.server.rate import QueryLimits
from endstop.server.server import make_server
from endstop.server.shapes_given import Query
from endstop.server.stream import Cursor, StreamEvent
from endstop.testing import MemoryStore, ScriptedModel, calls, reply
from endstop.testing.counting import CountedModel

PORT = 8765


class PacedModel(CountedModel):
    """Says its pieces one by one, each when it is let. A second reply begins anew with what is left."""

    def __init__(self, *pieces: Piece) -> None:
        super().__init__(name="test:paced", price=None)
        self._pieces = list(pieces)
        self._let = asyncio.Semaphore(0)

    def step(self) -> None:
        """Let it say one more piece."""
        self._let.release()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        while self._pieces:
            await self._let.acquire()
            piece = self._pieces.pop(0)
            if isinstance(piece, Exception):
                raise piece
            yield piece
            if isinstance(piece, ReplyEnded):
                return


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatServer:
    """The server, and who calls it."""

    store: WholeStore
    runner: Runner
    asgi: FastAPI
    access: Access
    me: httpx.AsyncClient
    other: httpx.AsyncClient

    @property
    def hub(self) -> Hub:
        return self.asgi.state.context.hub

    async def asked(self, question: str = "Where is login?", **more: object) -> Asked:
        """Ask, and wait for all of the answer."""
        answer = await self.me.post("/api/oracle/query", json={"query": question, **more})
        assert answer.status_code == 200, answer.text
        return Asked(
            run_id=answer.headers["x-run-id"],
            conversation_id=answer.headers["x-conversation-id"],
            events=read_sse(answer.text),
        )

    async def rest(self, run_id: str, after: str | None = None) -> list[StreamEvent]:
        """What a client is told that comes back with an id."""
        headers = {} if after is None else {"Last-Event-ID": after}
        answer = await self.me.get(f"/api/runs/{run_id}/stream", headers=headers)
        assert answer.status_code == 200, answer.text
        return read_sse(answer.text)

    async def followed(self, run_id: str, after: str | None = None) -> list[StreamEvent]:
        """The same without HTTP."""
        telling = await self.hub.telling(run_id, Cursor.read(after))
        return [event async for event in self.hub.follow(run_id, telling) if event is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of a question."""

    run_id: str
    conversation_id: str
    events: list[StreamEvent]

    def types(self) -> list[str]:
        return [event.type for event in self.events]


@asynccontextmanager
async def chat_server(
    home: Path,
    make_model: Callable[[], Model] = lambda: ScriptedModel("It is in login.py."),
    *,
    store: WholeStore | None = None,
    tools: Iterable[Tool] = (),
    clock: Clock | None = None,
    can_remake: bool = True,
    limits: QueryLimits | None = None,
    **options: Any,
) -> AsyncGenerator[ChatServer]:
    """Run a server. Its agents are made of ``make_model`` and ``tools``, also when a run goes on."""
    kept = MemoryStore() if store is None else store
    parts = tuple(tools)

    def make_agent(wanted: Wanted) -> Agent:
        config = AgentConfig(budget=wanted.budget)
        return made(config, on_limit=wanted.on_limit)

    def agent_of(started: RunStarted) -> Agent | None:
        return made(started.config, on_limit=started.on_limit) if can_remake else None

    def made(config: AgentConfig, *, on_limit: str) -> Agent:
        return Agent(
            name="scripted",
            model=make_model(),
            tools=parts,
            config=config,
            on_limit=cast("Any", on_limit),
            retries=Retries(first_wait_s=0.001),
            awaits_user=bool(options.get("awaits_user")),
        )

    runner = Runner(kept, clock=SystemClock() if clock is None else clock, agent_of=agent_of)
    config = Config(home=home, database_url="sqlite:///:memory:", user="ana")
    app = App(config=config, store=kept, runner=runner)
    access = Access.on_loopback(kept, user="ana", port=PORT, limits=limits or QueryLimits(per_minute=1_000))
    server_options = {name: value for name, value in options.items() if name != "awaits_user"}
    server = make_server(app, access, make_agent=make_agent, project=str(home), **server_options)
    async with (
        server.router.lifespan_context(server),
        _client(server, access.program_token()) as me,
        _client(server, access.program_token("bob")) as other,
    ):
        yield ChatServer(store=kept, runner=runner, asgi=server, access=access, me=me, other=other)


def _client(server: FastAPI, token: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server),
        base_url=f"http://127.0.0.1:{PORT}",
        headers={"Authorization": f"Bearer {token}"},
        timeout=30,
    )


def read_sse(text: str) -> list[StreamEvent]:
    """The events of a stream, read as a client does: one without an id leaves the last id as it was."""
    events: list[StreamEvent] = []
    last_id = ""
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if fields:
            data = json.loads(fields["data"])
            last_id = fields.get("id", last_id)
            events.append(StreamEvent(id=last_id, type=data.pop("type"), data=data))
    return events


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a client knows in the end: its texts, and all else in its order."""

    content: str
    thinking: str
    others: list[tuple[str, dict[str, object]]]


def heard(events: Iterable[StreamEvent]) -> Heard:
    """Put a stream together as a client does: texts grow, and what is retracted goes."""
    content = thinking = ""
    others: list[tuple[str, dict[str, object]]] = []
    for event in events:
        match event.type:
            case "content":
                content += cast("str", event.data["content"])
            case "thinking":
                thinking += cast("str", event.data["content"])
            case "retract":
                content = content[: len(content) - cast("int", event.data["chars"])]
                thinking = thinking[: len(thinking) - cast("int", event.data["thinking_chars"])]
            case _:
                others.append((event.type, event.data))
    return Heard(content=content, thinking=thinking, others=others)


async def until(is_so: Callable[[], object], *, seconds: float = 10.0) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not is_so():
            await asyncio.sleep(0.002)


async def start(server: ChatServer, **more: object) -> str:
    """Start a run without waiting for its stream."""
    query = Query.model_validate({"query": "Where is login?", **more})
    state = server.asgi.state
    run_id, _ = await state.questions.start(state.context, Caller(user="ana", via="token"), query)
    return run_id


def watch(server: ChatServer, run_id: str) -> tuple[list[StreamEvent], asyncio.Task[None]]:
    """Follow a run; what was told so far, and who listens."""
    told: list[StreamEvent] = []

    async def listen() -> None:
        telling = await server.hub.telling(run_id, Cursor())
        async for event in server.hub.follow(run_id, telling):
            if event is not None:
                told.append(event)  # noqa: PERF401 - seen while it grows

    return told, asyncio.create_task(listen())


STEPS = [reply(text=f"Step {number}. ", calls=[calls("echo", text=str(number))]) for number in range(20)]


def busy_model() -> ScriptedModel:
    """Works for as long as it is let, and says where it is."""

    def next_step(request: Any) -> Any:
        done = sum(type(message).__name__ == "ToolMessage" for message in request.messages)
        return STEPS[done] if done < 6 else "Done."

    return ScriptedModel(next_step)
