"""A real server on a real socket, in a thread of this process, for tests that need more than calls."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from endstop.app import App, Config, SystemClock, agent_of
from endstop.runner import Runner
from endstop.server.access import Access
from endstop.server.questions import MakeAgent
from endstop.server.rate import QueryLimits
from endstop.server.server import make_server
from endstop.testing import MemoryStore

PLENTY = QueryLimits(per_minute=1_000_000, at_once=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where it is, how to get in, and what is inside."""

    url: str
    access: Access
    store: MemoryStore
    asgi: FastAPI

    def token(self, user: str = "me") -> str:
        return self.access.program_token(user)


@contextmanager
def served(
    home: Path,
    *,
    make_agent: MakeAgent | None = None,
    limits: QueryLimits = PLENTY,
    store: MemoryStore | None = None,
    port: int = 0,
) -> Generator[Served]:
    """A server that listens until the block ends."""
    store = MemoryStore() if store is None else store
    config = Config(home=home, database_url="sqlite:///:memory:")
    runner = Runner(store, clock=SystemClock(), agent_of=agent_of)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(512)
        taken: int = listening.getsockname()[1]
        access = Access.on_loopback(store, user=config.user, port=taken, limits=limits)
        app = App(config=config, store=store, runner=runner)
        asgi = make_server(app, access, make_agent=make_agent, project=str(home))
        server = uvicorn.Server(
            uvicorn.Config(asgi, log_config=None, access_log=False, timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server could not start"
                time.sleep(0.01)
            yield Served(url=f"http://127.0.0.1:{taken}", access=access, store=store, asgi=asgi)
        finally:
            asgi.state.context.hub.is_closing = True
            server.should_exit = True
            thread.join(20)
