"""Lines to a database that can be cut and mended, and a database that can be stopped and started again."""

from __future__ import annotations

import asyncio
import pwd
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from postgres import PostgresServer, stop_server, unprivileged_user


class Line:
    """Passes bytes on between whoever connects here and a server; until it is cut."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._writers: set[asyncio.StreamWriter] = set()
        self._passes = asyncio.Event()
        self._passes.set()
        self._is_cut = False
        self.port = 0

    def cut(self) -> None:
        """Everything breaks off, and nobody can connect."""
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def freeze(self) -> None:
        """Nothing comes through any more, and nobody is told."""
        self._passes.clear()

    def mend(self) -> None:
        self._is_cut = False
        self._passes.set()

    def url(self, url: str) -> str:
        """The same database, by way of this line."""
        parts = urlsplit(url)
        login = parts.netloc.rpartition("@")[0]
        return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{self.port}"))

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        ends = {writer}
        try:
            await self._passes.wait()
            there_reader, there_writer = await asyncio.open_connection(self._host, self._port)
            ends.add(there_writer)
            self._writers |= ends
            await asyncio.gather(self._passed(reader, there_writer), self._passed(there_reader, writer))
        except OSError:
            pass  # one side has gone
        finally:
            self._writers -= ends
            for each in ends:
                each.transport.abort()

    async def _passed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await self._passes.wait()
            writer.write(data)
            await writer.drain()
        raise ConnectionError("one side has ended")


@asynccontextmanager
async def line_to(url: str) -> AsyncGenerator[Line]:
    """A line to the database of a URL."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    line = Line(parts.hostname, parts.port)
    listening = await asyncio.start_server(line.connected, "127.0.0.1", 0)
    line.port = listening.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        line.mend()
        listening.close()
        line.cut()


async def restarted(server: PostgresServer, *, down_s: float) -> PostgresServer:
    """Stop a database server at once, and start it again on the same folder and port after a while."""
    await asyncio.to_thread(stop_server, server)
    await asyncio.sleep(down_s)
    user = unprivileged_user()
    options: dict[str, Any] = {"env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}, "cwd": "/"}
    if user is not None:
        options.update(user=user, group=pwd.getpwnam(user).pw_gid, extra_groups=[])
    process = subprocess.Popen(
        server.process.args,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **options,
    )
    again = PostgresServer(port=server.port, process=process)
    while True:
        with suppress(psycopg.OperationalError):
            (await asyncio.to_thread(psycopg.connect, again.url("postgres"), connect_timeout=2)).close()
            return again
        assert process.poll() is None, "it did not start again"
        await asyncio.sleep(0.05)
