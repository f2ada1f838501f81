"""A real server in a process of its own, with a model that takes its time. For tests that kill it.

Prints its port and a token, then serves until it is killed.

Usage: python slow_server.py DATABASE_URL HOME PIECE_SECONDS [RECOVER_SECONDS]
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn

from endstop.app import App, Config, SystemClock
from endstop.events.facts import RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.loop.agent import Agent
from endstop.ports import ModelRequest, Piece, ReplyEnded, TextPiece, ToolMessage, ToolRequest
from endstop.runner import Runner
from endstop.server.access import Access
from endstop.server.questions import Wanted
from endstop.server.server import make_server
from endstop.store import open_store
from endstop.testing import echo_tool
from endstop.testing.counting import CountedModel

WORDS = [f"word{number} " for number in range(60)]


class SlowModel(CountedModel):
    """Calls a tool, then speaks word by word."""

    def __init__(self, piece_s: float) -> None:
        super().__init__(name="test:slow", price=None)
        self._piece_s = piece_s

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        if not any(isinstance(message, ToolMessage) for message in request.messages):
            yield ToolRequest(id="1", tool="echo", arguments='{"text": "a"}')
        else:
            for word in WORDS:
                await asyncio.sleep(self._piece_s)
                yield TextPiece(text=word)
        yield ReplyEnded()


async def main(url: str, home: str, piece_s: float, recover_s: float = 30.0) -> None:
    store = await open_store(url)

    def made(config: AgentConfig) -> Agent:
        return Agent(model=SlowModel(piece_s), tools=(echo_tool(),), config=config)

    def agent_of(started: RunStarted) -> Agent:
        return made(started.config)

    def make_agent(wanted: Wanted) -> Agent:
        return made(AgentConfig(budget=wanted.budget))

    runner = Runner(store, clock=SystemClock(), agent_of=agent_of)
    app = App(config=Config(home=Path(home), database_url=url, user="ana"), store=store, runner=runner)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    access = Access.on_loopback(store, user="ana", port=port)
    server = make_server(app, access, make_agent=make_agent, project=home)
    server.state.context.hub.recover_s = recover_s
    sys.stdout.write(f"{port} {access.program_token()} {access.program_token('bob')}\n")
    sys.stdout.flush()
    await uvicorn.Server(uvicorn.Config(server, log_level="warning")).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])))
