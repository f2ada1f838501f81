"""A server with its gate and next to nothing behind it: for tests of who comes in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import httpx
from fastapi import FastAPI, Request

from endstop.app import App, Config, agent_of
from endstop.app.oracle import tree_library
from endstop.ports import StoredUser, WholeStore
from endstop.runner import Runner
from endstop.server import routes_session
from endstop.server.access import Access, CallerHere
from endstop.server.context import Context
from endstop.server.gate import Gate
from endstop.server.hosts import Hosts
from endstop.server.links import SignedIn
from endstop.server.problems import install_problems
from endstop.server.rate import QueryLimits
from endstop.server.tokens import new_token
from endstop.testing import FakeClock, MemoryStore

PORT = 8765
HOST = f"127.0.0.1:{PORT}"
PAGE = f"http://{HOST}"
MOST_BYTES = 10_000
BODY_S = 0.2
ME, THINGS = "/api/session", "/api/things"


class Gated:
    """The server, its store, and a clock that goes only when told to."""

    def __init__(
        self,
        home: Path,
        *,
        hosts: Hosts | None = None,
        owner: str | None = "me",
        store: WholeStore | None = None,
        limits: QueryLimits | None = None,
    ) -> None:
        self.store = MemoryStore() if store is None else store
        self.clock = FakeClock()
        self.access = Access(
            self.store,
            hosts=Hosts.loopback(PORT) if hosts is None else hosts,
            owner=owner,
            clock=self.clock,
            limits=limits,
        )
        config = Config(home=home, database_url="sqlite://")
        self.runner = Runner(self.store, clock=self.clock, agent_of=agent_of)
        app = App(config=config, store=self.store, runner=self.runner)
        self.asgi = _made()
        self.asgi.state.context = Context(
            app=app, access=self.access, hub=cast("Any", None), trees=tree_library(config)
        )

    def client(self, *, host: str = HOST, page: SignedIn | None = None, **headers: str) -> httpx.AsyncClient:
        """Somebody who calls; ``_`` in the names of headers stands for ``-``. ``page`` sends both halves."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if page is not None:
            sent = {**self.halves(page), **sent}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app=self.asgi), base_url=f"http://{host}", headers=sent
        )

    def halves(self, page: SignedIn) -> dict[str, str]:
        """What a browser and its page send: the cookie, and the key."""
        return {"cookie": f"{self.access.cookie_name}={page.cookie}", "x-endstop-key": page.key}

    async def token(self, user: str = "ana", *, days: int = 90) -> str:
        """A token that is kept, of a user that is added if need be."""
        now = self.clock.unix_s()
        await self.store.add_user(StoredUser(name=user, added_at=now))
        made = new_token(user, days=days, now=now)
        await self.store.add_token(made.stored)
        return made.secret

    async def page(self) -> SignedIn:
        """What a browser has that has opened the link."""
        link = self.access.one_time_link(PORT)
        signed_in = await self.access.redeem_link(link.partition("token=")[2])
        assert signed_in is not None
        return signed_in


def _made() -> FastAPI:
    server = FastAPI()
    server.include_router(routes_session.router)

    @server.get("/")
    async def page() -> str:  # pyright: ignore[reportUnusedFunction] - a route
        return "the page"

    @server.post("/api/things")
    async def change(request: Request, caller: CallerHere) -> dict[str, object]:  # pyright: ignore[reportUnusedFunction] - a route
        return {"user": caller.user, "bytes": len(await request.body())}

    install_problems(server)
    server.add_middleware(Gate, most_body_bytes=MOST_BYTES, body_s=BODY_S)
    return server


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def asked(gated: Gated, method: str = "GET", path: str = ME, **how: Any) -> httpx.Response:
    async with gated.client(**how) as client:
        return await client.request(method, path)
