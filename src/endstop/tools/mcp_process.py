"""An MCP server in a process of its own, spoken to over its standard input and output.

Our own instead of the library's: closing it kills the whole process group, at once, and it dies with us.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from endstop.errors import ToolError, brief
from endstop.tools.group import MARK, DeathGuard, close_pipes, kill_marked, signal_group
from endstop.tools.output import CappedOutput
from endstop.tools.processes import TERM_GRACE_S, safe_environment
from endstop.tools.threads import call_in_thread

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

CLOSE_GRACE_S = 0.3
"""So long a server may take to end by itself when its input has ended."""
MOST_LINE_BYTES = 16_000_000
_MOST_STDERR_BYTES = 4_000


class ServerProcess:
    """A server, and what it last complained about."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str] | None, cwd: str | Path | None
    ) -> None:
        self._command = list(command)
        self._mark = uuid.uuid4().hex
        self._env = {**safe_environment(), **(env or {}), MARK: self._mark}
        self._cwd = cwd
        self._stderr = CappedOutput(_MOST_STDERR_BYTES)

    @property
    def complaint(self) -> str:
        """The last lines of its standard error."""
        return "\n".join(self._stderr.text().strip().splitlines()[-3:])

    @contextlib.asynccontextmanager
    async def streams(self) -> AsyncGenerator[TransportStreams]:
        """Run the server, and speak to it: the transport that the library asks for."""
        import anyio

        guard = DeathGuard(self._mark)
        try:
            process = await self._started()
        except BaseException:
            guard.dismiss()
            raise
        guard.watch(process.pid)
        to_us, from_server = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        to_server, from_us = anyio.create_memory_object_stream["SessionMessage"](0)
        tasks = [
            asyncio.create_task(_read(process, to_us)),
            asyncio.create_task(_write(process, from_us)),
            asyncio.create_task(self._listen(process)),
        ]
        try:
            yield from_server, to_server
        finally:
            try:
                await self._stop(process)
            finally:
                signal_group(process.pid, signal.SIGKILL)
                for task in tasks:
                    task.cancel()
                for stream in (to_us, from_server, to_server, from_us):
                    stream.close()
                close_pipes(process)
                guard.dismiss()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _started(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
                limit=MOST_LINE_BYTES,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ToolError(
                f"The MCP server {brief(self._command[0])} cannot be started: {why}",
                to_do="Give the command that starts it",
            ) from error

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while piece := await process.stderr.read(65_536):
            self._stderr.add(piece)

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """End its input, wait a little, then kill what is left of the group and what has left it."""
        assert process.stdin is not None
        process.stdin.close()
        if not await _ended_within(process, CLOSE_GRACE_S):
            signal_group(process.pid, signal.SIGTERM)
            await _ended_within(process, TERM_GRACE_S)
        signal_group(process.pid, signal.SIGKILL)
        await call_in_thread(kill_marked, self._mark)
        await _ended_within(process, TERM_GRACE_S)


async def _read(
    process: asyncio.subprocess.Process, to_us: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    """Hand on what the server says, line by line. When it ends, so does the stream."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    assert process.stdout is not None
    with (
        to_us,
        contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ValueError, OSError),
    ):
        while line := await process.stdout.readline():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                # Something printed by accident: the server is none the worse for it. One that does nothing
                # else must not keep everybody else from their turn.
                await asyncio.sleep(0)
                continue
            await to_us.send(SessionMessage(message))


async def _write(
    process: asyncio.subprocess.Process, from_us: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    assert process.stdin is not None
    with from_us, contextlib.suppress(OSError):
        async for message in from_us:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()


async def _ended_within(process: asyncio.subprocess.Process, timeout_s: float) -> bool:
    """Whether the server itself ends in time. Its children may still hold its pipes."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while process.returncode is None:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.005)
    return True
