"""A server on a store in memory, and two users who call it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import httpx
from fastapi import FastAPI

from endstop.app import App, Config, SystemClock, agent_of
from endstop.runner import Runner
from endstop.server.access import Access
from endstop.server.context import Context
from endstop.server.measuring import Measures
from endstop.server.questions import MakeAgent
from endstop.server.rate import QueryLimits
from endstop.server.server import make_server
from endstop.testing import MemoryStore

PORT = 8765


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallServer:
    """The server, and who calls it."""

    store: MemoryStore
    config: Config
    asgi: FastAPI
    access: Access
    measures: Measures
    me: httpx.AsyncClient
    other: httpx.AsyncClient
    nobody: httpx.AsyncClient


def make_small(
    home: Path,
    *,
    store: MemoryStore | None = None,
    model: str = "extractive",
    make_agent: MakeAgent | None = None,
    limits: QueryLimits | None = None,
) -> FastAPI:
    """The server itself, with its parts in ``state``."""
    store = MemoryStore() if store is None else store
    config = Config(home=home, database_url="sqlite:///:memory:", model=model)
    app = App(config=config, store=store, runner=Runner(store, clock=SystemClock(), agent_of=agent_of))
    access = Access.on_loopback(store, user=config.user, port=PORT, limits=limits)
    return make_server(app, access, recovers=False, make_agent=make_agent, project=str(home))


def client_of(server: FastAPI, token: str | None, *, address: str = "127.0.0.1") -> httpx.AsyncClient:
    """A program that calls from ``address`` with a token, or without."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server, client=(address, 50_000)),
        base_url=f"http://127.0.0.1:{PORT}",
        headers={} if token is None else {"Authorization": f"Bearer {token}"},
    )


@asynccontextmanager
async def small_server(
    home: Path,
    *,
    store: MemoryStore | None = None,
    model: str = "extractive",
    make_agent: MakeAgent | None = None,
    limits: QueryLimits | None = None,
) -> AsyncGenerator[SmallServer]:
    server = make_small(home, store=store, model=model, make_agent=make_agent, limits=limits)
    context: Context = server.state.context
    access = context.access
    async with (
        server.router.lifespan_context(server),
        client_of(server, access.program_token()) as me,
        client_of(server, access.program_token("other")) as other,
        client_of(server, None) as nobody,
    ):
        yield SmallServer(
            store=cast("MemoryStore", context.app.store),
            config=context.app.config,
            asgi=server,
            access=access,
            measures=server.state.measures,
            me=me,
            other=other,
            nobody=nobody,
        )
