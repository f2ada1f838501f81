"""The two servers of ``bench_server.py``, each in a process of its own.

python benchmarks/server_contenders.py endstop FOLDER       prints its port and a token for each user
python benchmarks/server_contenders.py bare FILE            prints its port; yields the events in FILE
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from endstop.app import Config, make_agent, open_app
from endstop.kernel.budget import Budget
from endstop.loop.agent import Agent
from endstop.server.access import Access
from endstop.server.pace import new_loop, set_process
from endstop.server.questions import Wanted
from endstop.server.rate import QueryLimits
from endstop.server.server import make_server
from endstop.testing import ScriptedModel, calls, echo_tool

ANSWER = "Limits are checked by the governor, before every turn and after every call. " * 4
AT_REAL_PACE = "Take your time."
REAL_S = 5.0
"""How long a model at a real pace takes for each of its two replies."""
USERS = 500
"""Each stream is another user's: one who had hundreds of runs at once would not be let in."""
LIMITS = QueryLimits(per_minute=1_000_000, at_once=10_000)


def instant(wanted: Wanted) -> Agent:
    """One tool call, then an answer in sixteen pieces: at once, or at the pace of a real model."""
    delay_s = REAL_S if wanted.question == AT_REAL_PACE else 0.0
    model = ScriptedModel(calls("echo", text="limits"), ANSWER, piece_chars=20, delay_s=delay_s)
    return make_agent(
        model=model, tools=[echo_tool()], budget=Budget(turns=9, tool_calls_per_turn=5), name="bench"
    )


def bare(events: list[bytes]) -> FastAPI:
    """An endpoint that only yields, and one that only stays open."""
    server = FastAPI()

    async def yielded() -> AsyncIterator[bytes]:
        for event in events:
            yield event

    async def silent() -> AsyncIterator[bytes]:
        yield b": begun\n\n"
        await asyncio.Event().wait()

    @server.post("/api/oracle/query")
    async def ask() -> StreamingResponse:  # pyright: ignore[reportUnusedFunction] - the route is its use
        return StreamingResponse(yielded(), media_type="text/event-stream")

    @server.get("/api/notifications/stream")
    async def notify() -> StreamingResponse:  # pyright: ignore[reportUnusedFunction] - the route is its use
        return StreamingResponse(silent(), media_type="text/event-stream")

    return server


def listening() -> socket.socket:
    opened = socket.socket()
    opened.bind(("127.0.0.1", 0))
    opened.listen(2_048)
    return opened


async def serve(server: FastAPI, opened: socket.socket) -> None:
    config = uvicorn.Config(
        server, log_config=None, access_log=False, timeout_graceful_shutdown=1, backlog=2_048
    )
    await uvicorn.Server(config).serve(sockets=[opened])


async def serve_endstop(folder: Path) -> None:
    opened = listening()
    port: int = opened.getsockname()[1]
    config = Config(home=folder, database_url=f"sqlite:///{folder / 'endstop.db'}")
    async with open_app(config) as app:
        access = Access.on_loopback(app.store, user="me", port=port, limits=LIMITS)
        server = make_server(app, access, make_agent=instant, project=str(folder))
        print(port, *(access.program_token(f"user{number}") for number in range(USERS)), flush=True)
        await serve(server, opened)


async def serve_bare(file: Path) -> None:
    opened = listening()
    events = [event + b"\n\n" for event in file.read_bytes().split(b"\n\n") if event]
    print(opened.getsockname()[1], "none", flush=True)
    await serve(bare(events), opened)


if __name__ == "__main__":
    set_process()  # alike for both
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run((serve_endstop if sys.argv[1] == "endstop" else serve_bare)(Path(sys.argv[2])))
