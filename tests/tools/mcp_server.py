"""A small MCP server for the tests, with tools that behave and tools that do not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("little.server")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool(name="write note", annotations=ToolAnnotations(idempotent_hint=True))
def write_note(text: str) -> str:
    return f"wrote {text}"


@server.tool()
def fail() -> str:
    raise ValueError("the moon is not full")


@server.tool()
def crash() -> str:
    sys.stderr.write("out of cheese\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool()
def hang() -> str:
    time.sleep(3_600)
    return "never"


@server.tool()
def long_text() -> str:
    return "x" * 3_000_000


@server.tool()
def environment() -> str:
    return "\n".join(sorted(os.environ))


@server.tool()
def child() -> str:
    """Start a process that would outlive the server."""
    return str(subprocess.Popen(["sleep", "3600"], start_new_session=True).pid)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--port", port]:
            server.run("streamable-http", host="127.0.0.1", port=int(port))
        case [pid_file]:
            Path(pid_file).write_text(str(os.getpid()))
            server.run()
        case _:
            server.run()
