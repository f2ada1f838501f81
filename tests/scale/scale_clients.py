"""Servers in processes of their own, and clients that follow a run through whatever happens to them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from scale_cast import Play

_HERE = Path(__file__).parent


@dataclass(slots=True, kw_only=True)
class ServerProcess:
    """A server that hands out, in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    token: str

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def client(self, **options: Any) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.address, headers=self.headers, timeout=30, **options)

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(8)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


async def begun_server(command: list[str], *, env: dict[str, str] | None = None) -> ServerProcess:
    """A server that is ready: it says its address and its token in its first line."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    assert process.stdout is not None
    line = await asyncio.to_thread(process.stdout.readline)
    if not line:
        process.wait()
        process.stdout.close()
        raise AssertionError("the server could not start")
    ready = json.loads(line)
    return ServerProcess(process=process, address=ready["address"], token=ready["token"])


@asynccontextmanager
async def server(url: str, folder: Path, *, port: int = 0) -> AsyncGenerator[ServerProcess]:
    """A server of plays, gone at the end."""
    begun = await begun_server([sys.executable, str(_HERE / "scale_server.py"), url, str(folder), str(port)])
    try:
        yield begun
    finally:
        begun.end()


@dataclass(slots=True, kw_only=True)
class Follower:
    """What a client has seen of a run. It comes back with its last id whenever it was cut off."""

    run_id: str
    servers: list[ServerProcess]
    """Where it goes; when it was cut off, to the next one."""
    text: str = ""
    thinking: str = ""
    last_id: str | None = None
    types: list[str] = field(default_factory=list[str])
    pieces: int = 0
    retracted: int = 0
    connections: int = 0

    async def follow(self, *, pieces: int | None = None) -> None:
        """Follow it to its end; or, with ``pieces``, until there were so many more, and hang up."""
        until_pieces = None if pieces is None else self.pieces + pieces
        while "done" not in self.types:
            where = self.servers[self.connections % len(self.servers)]
            self.connections += 1
            try:
                async with where.client() as client:
                    if await self._seen(client, until_pieces):
                        return
            except httpx.HTTPError:
                pass  # the server, or its database, is away
            await asyncio.sleep(0.05)

    async def _seen(self, client: httpx.AsyncClient, until_pieces: int | None) -> bool:
        headers = {} if self.last_id is None else {"Last-Event-ID": self.last_id}
        async with client.stream("GET", f"/api/runs/{self.run_id}/stream", headers=headers) as response:
            if response.status_code == 401 or response.status_code >= 500:
                return False  # it does not know us yet, or its database is away
            assert response.status_code == 200, (await response.aread()).decode()
            name: str | None = None
            async for line in response.aiter_lines():
                if line.startswith("id:"):
                    name = line[3:].strip()
                elif line.startswith("data:"):
                    self._take(json.loads(line[5:]))
                    self.last_id = name or self.last_id
                    if "done" in self.types or (until_pieces is not None and self.pieces >= until_pieces):
                        return True
        return False

    def _take(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        self.types.append(kind)
        if kind == "content":
            self.text += event["content"]
            self.pieces += 1
        elif kind == "thinking":
            self.thinking += event["content"]
        elif kind == "retract":
            self.retracted += 1
            self.text = self.text[: len(self.text) - event["chars"]]
            self.thinking = self.thinking[: len(self.thinking) - event["thinking_chars"]]


async def asked(where: ServerProcess, play: Play) -> str:
    """Ask, and hang up: the id of the run."""
    async with (
        where.client() as client,
        client.stream("POST", "/api/oracle/query", json={"query": play.question}) as response,
    ):
        assert response.status_code == 200, (await response.aread()).decode()
        return response.headers["X-Run-Id"]
