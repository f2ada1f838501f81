"""A line to a PostgreSQL server that counts what passes: statements, round trips and bytes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

_PROTOCOL_3 = 3 << 16
"""What the message begins with that ends the greeting. From then on every message has a letter."""
_KIND_AND_LENGTH = 5


class CountingLine:
    """Passes on everything between whoever connects here and a server, and counts it.

    A statement is a message that runs one (``Execute`` or ``Query``); a round trip, one after which a client
    waits (``Sync`` or ``Query``).
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._there = parts.hostname, parts.port
        self._parts = parts
        self.port = 0
        self.kinds: Counter[str] = Counter()
        self.bytes = 0

    @property
    def url(self) -> str:
        """The same database, by way of this line."""
        login = self._parts.netloc.rpartition("@")[0]
        return urlunsplit(self._parts._replace(netloc=f"{login}@127.0.0.1:{self.port}"))

    @property
    def statements(self) -> int:
        return self.kinds["E"] + self.kinds["Q"]

    @property
    def round_trips(self) -> int:
        return self.kinds["S"] + self.kinds["Q"]

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(*self._there)
        forth = asyncio.create_task(self._pass_on(self._messages(reader), there_writer))
        back = asyncio.create_task(self._pass_on(_pieces(there_reader), writer))
        with suppress(OSError, asyncio.IncompleteReadError):
            await asyncio.wait((forth, back), return_when=asyncio.FIRST_COMPLETED)
        for task in (forth, back):
            task.cancel()
        await asyncio.gather(forth, back, return_exceptions=True)
        for each in (writer, there_writer):
            each.transport.abort()

    async def _pass_on(self, pieces: AsyncIterator[bytes], writer: asyncio.StreamWriter) -> None:
        async for piece in pieces:
            self.bytes += len(piece)
            writer.write(piece)
            await writer.drain()

    async def _messages(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """What a client says, message by message."""
        is_greeted = False
        while not is_greeted:
            head = await reader.readexactly(8)
            yield head + await reader.readexactly(int.from_bytes(head[:4]) - 8)
            is_greeted = int.from_bytes(head[4:]) == _PROTOCOL_3
        while True:
            head = await reader.readexactly(_KIND_AND_LENGTH)
            self.kinds[chr(head[0])] += 1
            yield head + await reader.readexactly(int.from_bytes(head[1:]) - 4)


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while piece := await reader.read(65_536):
        yield piece


@asynccontextmanager
async def counting_line(url: str) -> AsyncGenerator[CountingLine]:
    line = CountingLine(url)
    async with await asyncio.start_server(line.connected, "127.0.0.1", 0) as listening:
        line.port = listening.sockets[0].getsockname()[1]
        yield line
