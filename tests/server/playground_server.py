"""A real server in a process of its own, with agents made as Endstop makes them. For tests that kill it.

Prints its address and a token, then serves until it is killed.

Usage: python playground_server.py HOME
"""

from __future__ import annotations

import asyncio
import socket
import sys

import uvicorn

from endstop.app import open_app
from endstop.server.access import Access
from endstop.server.server import make_server


async def main(home: str) -> None:
    async with open_app() as app:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        access = Access.on_loopback(app.store, user="me", port=port)
        server = make_server(app, access, project=home)
        sys.stdout.write(f"http://127.0.0.1:{port} {access.program_token('me')}\n")
        sys.stdout.flush()
        await uvicorn.Server(uvicorn.Config(server, log_level="warning")).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
