"""A typed client of an Endstop server, for programs. It talks HTTP and knows nothing of what is behind it.

    with Client("http://127.0.0.1:8765", token) as client:
        for chunk in client.ask("Where is the login checked?"):
            print(chunk.text, end="")

A stream that drops goes on by itself, without a word lost or repeated. What the server refuses is raised as
the same errors that the library raises. It needs httpx.
"""

from __future__ import annotations

from endstop.client.blocking import Client, Stream
from endstop.client.calls import Decision, Document, Grant, Settings
from endstop.client.stream import Chunk
from endstop.client.waiting import AsyncClient, AsyncStream

__all__ = [
    "AsyncClient",
    "AsyncStream",
    "Chunk",
    "Client",
    "Decision",
    "Document",
    "Grant",
    "Settings",
    "Stream",
]
