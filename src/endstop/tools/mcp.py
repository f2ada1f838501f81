"""The tools of an MCP server as tools of ours. A server that crashes or hangs fails a call, never the run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from endstop.errors import EndstopError, InvalidValueError, ToolArgumentsError, ToolError, cause
from endstop.kernel.texts import readable, shortened
from endstop.ports import Tool, ToolContext, ToolResult, ToolSpec, ToolTraits
from endstop.tools.mcp_process import ServerProcess
from endstop.tools.schema import read_object

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client

CONNECT_TIMEOUT_S = 20.0
CALL_TIMEOUT_S = 60.0
_CANCEL_GRACE_S = 0.1
_LAST_WORDS_S = 0.01
"""For what a server that crashed wrote before it did."""
_MOST_TOOLS = 500
_MOST_SCHEMA_CHARS = 100_000
_MOST_DESCRIPTION_CHARS = 4_000
_NAME_CHARS = 64


@contextlib.asynccontextmanager
async def mcp_tools(
    command: Sequence[str] | None = None,
    *,
    url: str | None = None,
    name: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    timeout_s: float = CALL_TIMEOUT_S,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
) -> AsyncGenerator[tuple[Tool, ...]]:
    """Connect to a server, started by ``command`` or reached at ``url``, and give out its tools.

    They are named after the server (``name``, or what it calls itself) and the tool. A server that is started
    here gets a small environment and ``env``; it is killed with all its children at the end.
    """
    connection = _Connection(_process(command, url, env=env, cwd=cwd), url)
    await asyncio.to_thread(import_module, "mcp")  # takes a second or two; nobody else should wait for it
    try:
        tools = await connection.open(name, timeout_s=timeout_s, connect_timeout_s=connect_timeout_s)
        yield tools
    finally:
        await connection.close()


class McpTool:
    """One tool of a server."""

    def __init__(self, connection: _Connection, remote: str, spec: ToolSpec, traits: ToolTraits) -> None:
        self._connection = connection
        self._remote = remote
        self.spec = spec
        self.traits = traits

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    async def call(self, arguments: str, context: ToolContext) -> ToolResult:  # noqa: ARG002 - the port's
        """Pass the call on. See the port."""
        given = read_object(self.spec.name, arguments, self.spec.parameters)
        answer = await self._connection.call(self._remote, given)
        text = readable(shortened(_text(answer)))
        if answer.is_error:
            raise ToolError(f"{self.spec.name} failed: {text}")
        return ToolResult(text=text, value=answer.structured_content)


class _Connection:
    """A client in a task of its own: when it breaks, the tasks that call it do not."""

    def __init__(self, process: ServerProcess | None, url: str | None) -> None:
        self._process = process
        self._url = url
        self._client: Client | None = None
        self._is_open = asyncio.Event()
        self._may_close = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._calls: set[asyncio.Task[mcp_types.CallToolResult]] = set()

    async def open(
        self, name: str | None, *, timeout_s: float, connect_timeout_s: float
    ) -> tuple[McpTool, ...]:
        self._life = asyncio.create_task(self._live())
        try:
            async with asyncio.timeout(connect_timeout_s):
                opened = asyncio.create_task(self._is_open.wait())
                try:
                    await asyncio.wait((opened, self._life), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    opened.cancel()
                if self._client is None:
                    raise self._ended()
                server = name or (self._client.server_info.name if self._client.server_info else "mcp")
                listed = await self._until_ended(asyncio.create_task(_listed(self._client)))
        except TimeoutError:
            raise ToolError(
                f"The MCP server did not answer within {connect_timeout_s:g} s",
                to_do="See whether it runs, or give it more time with connect_timeout_s",
            ) from None
        taken: set[str] = set()
        return tuple(
            McpTool(self, one.name, _spec(_safe_name(server, one.name, taken), one), _traits(one, timeout_s))
            for one in listed
        )

    async def call(self, tool: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        if self._client is None or self._life is None or self._life.done():
            raise self._ended()
        task = asyncio.create_task(self._client.call_tool(tool, arguments))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        return await self._until_ended(task)

    async def close(self) -> None:
        """Let the client go and wait for the server's death."""
        self._may_close.set()
        for task in tuple(self._calls):
            task.cancel()
        if self._life is not None:
            if not self._is_open.is_set():
                self._life.cancel()
            await asyncio.wait([self._life])

    async def _live(self) -> None:
        from mcp import Client

        server = self._url if self._process is None else self._process.streams()
        assert server is not None
        async with Client(server) as client:
            self._client = client
            self._is_open.set()
            await self._may_close.wait()

    async def _until_ended(self, task: asyncio.Task[Any]) -> Any:
        """What comes of a request, unless the connection ends first."""
        assert self._life is not None
        try:
            await asyncio.wait((task, self._life), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait((task,), timeout=_CANCEL_GRACE_S)  # it may tell the server, but not for long
            raise
        if not task.done():
            task.cancel()
            raise self._ended()
        if task.cancelled():
            raise self._ended()
        error = task.exception()
        if error is None:
            return task.result()
        if _is_closed(error):
            await asyncio.sleep(_LAST_WORDS_S)
            raise self._ended() from error
        raise _translated(error) from error

    def _ended(self) -> ToolError:
        why = ""
        if self._life is not None and self._life.done() and not self._life.cancelled():
            error = self._life.exception()
            if isinstance(error, EndstopError):
                raise error
            why = f": {cause(_first(error))}" if error is not None else ""
        complaint = "" if self._process is None else self._process.complaint
        return ToolError(
            f"The MCP server has ended, or cannot be reached{why}",
            to_do=f"It last said: {shortened(complaint, 1_000)}" if complaint else "Go on without it",
        )


def _process(
    command: Sequence[str] | None, url: str | None, *, env: Mapping[str, str] | None, cwd: str | Path | None
) -> ServerProcess | None:
    if (command is None) == (url is None):
        raise InvalidValueError("command and url", (command, url), allowed="one of the two")
    if find_spec("mcp") is None:
        raise ToolError(
            "MCP servers need the package mcp, which is not installed", to_do="pip install 'endstop[mcp]'"
        )
    if command is None:
        return None
    if isinstance(command, str) or not command:
        raise InvalidValueError("command", command, allowed='a list of words, such as ["npx", "server"]')
    return ServerProcess(command, env=env, cwd=cwd)


async def _listed(client: Client) -> list[mcp_types.Tool]:
    """All tools; a server that never comes to an end is cut off."""
    found: list[mcp_types.Tool] = []
    cursor: str | None = None
    while len(found) < _MOST_TOOLS:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor or not page.tools:
            break
    return found[:_MOST_TOOLS]


def _safe_name(server: str, tool: str, taken: set[str]) -> str:
    """``server.tool`` as providers want names; each once."""
    plain = re.sub(r"[^a-zA-Z0-9_-]+", "_", f"{server}_{tool}")
    chosen = plain[:_NAME_CHARS]
    number = 2
    while chosen in taken:
        ending = f"_{number}"
        chosen = plain[: _NAME_CHARS - len(ending)] + ending
        number += 1
    taken.add(chosen)
    return chosen


def _spec(name: str, one: mcp_types.Tool) -> ToolSpec:
    description = one.description or one.title or ""
    return ToolSpec(
        name=name,
        description=readable(shortened(description, _MOST_DESCRIPTION_CHARS)),
        parameters=_checked_schema(one.input_schema),
    )


def _checked_schema(schema: object) -> dict[str, object]:
    """The schema as it is; one that providers would refuse becomes "any object": the server checks, too."""
    anything: dict[str, object] = {"type": "object"}
    if not isinstance(schema, dict):
        return anything
    given = cast("dict[str, object]", schema)
    try:
        length = len(json.dumps(given, allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        return anything
    is_usable = given.get("type", "object") == "object" and isinstance(given.get("properties", {}), dict)
    return {**given, "type": "object"} if is_usable and length <= _MOST_SCHEMA_CHARS else anything


def _traits(one: mcp_types.Tool, timeout_s: float) -> ToolTraits:
    """What the server says of the tool. What it does not say is taken for the worst."""
    hints = one.annotations
    only_reads = hints is not None and hints.read_only_hint is True
    return ToolTraits(
        changes_something=not only_reads,
        is_idempotent=only_reads or (hints is not None and hints.idempotent_hint is True),
        timeout_s=timeout_s,
    )


def _text(answer: mcp_types.CallToolResult) -> str:
    parts = [_block(one) for one in answer.content]
    if not any(parts) and answer.structured_content is not None:
        parts = [json.dumps(answer.structured_content, ensure_ascii=False, default=str)]
    return "\n".join(parts) or "Done."


def _block(one: mcp_types.ContentBlock) -> str:
    match one.type:
        case "text":
            return one.text
        case "image" | "audio":
            return f"[{one.type}, {one.mime_type}, {len(one.data) * 3 // 4:,} bytes]"
        case "resource_link":
            return f"[resource {one.uri}]"
        case "resource":
            text = getattr(one.resource, "text", None)
            return str(text) if text is not None else f"[resource {one.resource.uri}]"


def _is_closed(error: BaseException) -> bool:
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED

    return isinstance(error, MCPError) and error.error.code == CONNECTION_CLOSED


def _translated(error: BaseException) -> ToolError:
    from mcp.shared.exceptions import MCPError
    from mcp_types import INVALID_PARAMS

    first = _first(error)
    if isinstance(first, MCPError) and first.error.code == INVALID_PARAMS:
        return ToolArgumentsError(f"The MCP server refuses the arguments: {first.error.message}")
    return ToolError(f"The MCP server failed: {cause(first)}")


def _first(error: BaseException) -> BaseException:
    """The error inside a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
