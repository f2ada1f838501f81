"""Asks a server on this machine, and reads its answer as it streams. Closing the generator hangs up at once.

A few lines on asyncio's own streams, so that a local model needs none of the providers' packages.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import cast
from urllib.parse import urlsplit

_MOST_LINE_BYTES = 16 * 1024 * 1024
_MOST_ERROR_BYTES = 64 * 1024


class LoopbackError(Exception):
    """The server answered with a status that is not 200."""

    def __init__(self, status: int, words: str) -> None:
        self.status = status
        self.words = words
        super().__init__(f"{status}: {words}")


async def posted_events(url: str, body: object, *, key: str) -> AsyncGenerator[dict[str, object]]:
    """Post ``body``; the data of each event that comes back. OSError or ValueError when it goes wrong."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=_MOST_LINE_BYTES)
    try:
        data = json.dumps(body).encode()
        head = (
            f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + data)
        await writer.drain()
        status = await _status(reader)
        if status != 200:
            raise LoopbackError(status, _sentence(await reader.read(_MOST_ERROR_BYTES)))
        held = b""
        while chunk := await _next_chunk(reader):
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
                    yield cast("dict[str, object]", json.loads(line[5:]))
    finally:
        # Not closed in good order, which could wait for the other side: it is to notice, and to stop.
        writer.transport.abort()


async def _status(reader: asyncio.StreamReader) -> int:
    """Read the head of the answer."""
    first = await reader.readline()
    try:
        status = int(first.split()[1])
    except (IndexError, ValueError):
        raise ConnectionError("the server hung up, or does not speak HTTP") from None
    while (await reader.readline()).strip():
        pass
    return status


async def _next_chunk(reader: asyncio.StreamReader) -> bytes:
    """Empty at the end of the answer, or of the connection."""
    size = int((await reader.readline()).strip() or b"0", 16)
    chunk = await reader.readexactly(size)
    await reader.readline()
    return chunk


def _sentence(body: bytes) -> str:
    """What an error body says."""
    text = body.decode("utf-8", "replace")
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return text
