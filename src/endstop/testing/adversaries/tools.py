"""Tools that are the trouble: they hang, block, fork, fail, flood, and will not be cancelled.

None blocks the event loop itself: ``endstop.testing.bad_functions`` has the plain functions that would.
"""

from __future__ import annotations

import asyncio
import asyncio.subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from endstop.ports import ToolResult, ToolTraits
from endstop.testing import bad_functions
from endstop.testing.bad_functions import AN_HOUR_S, HOLDS_ITS_PIPE, kill_group
from endstop.testing.echo import PlainTool


class HangingTool(PlainTool):
    """Waits for what never comes. Its time-out or the time limit ends it (A11)."""

    def __init__(self, *, traits: ToolTraits | None = None) -> None:
        super().__init__("hang", self._hang, description="Waits.", traits=traits)

    async def _hang(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody sets that future")  # pragma: no cover


class StubbornTool(PlainTool):
    """Hangs, and takes no notice of being cancelled for ``for_s`` seconds. Its driver has to let go of it."""

    def __init__(self, *, for_s: float = 3.0) -> None:
        super().__init__("sit_out", self._sit_out, description="Waits, whatever happens.")
        self._for_s = for_s

    async def _sit_out(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._for_s
        while (left_s := until_s - loop.time()) > 0:
            try:
                await asyncio.sleep(left_s)
            except asyncio.CancelledError:
                continue
        return ToolResult(text="I have sat it out.")


class ThreadTool(PlainTool):
    """Runs ``block(stop)`` in a thread of its own and waits for it; ``stop`` is set when it is cancelled."""

    def __init__(self, name: str, block: Callable[[threading.Event], str]) -> None:
        super().__init__(name, self._run, description="Works in a thread.")
        self._block = block

    async def _run(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        loop = asyncio.get_running_loop()
        done: asyncio.Future[str] = loop.create_future()
        stop = threading.Event()

        def tell(text: str) -> None:
            if not done.done():
                done.set_result(text)

        def work() -> None:
            text = self._block(stop)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(tell, text)

        threading.Thread(target=work, name=f"endstop-testing-{self.spec.name}", daemon=True).start()
        try:
            return ToolResult(text=await done)
        finally:
            stop.set()


def blocking_tool(*, seconds: float = AN_HOUR_S) -> ThreadTool:
    """Blocks a thread until it is told to stop. Its time-out or the time limit ends it (A11)."""

    def block(stop: threading.Event) -> str:
        stop.wait(seconds)
        return "It is over."

    return ThreadTool("block", block)


def busy_tool(*, seconds: float = AN_HOUR_S) -> ThreadTool:
    """Keeps a thread busy until it is told to stop. Its time-out or the time limit ends it (A11)."""

    def spin(stop: threading.Event) -> str:
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s and not stop.is_set():
            pass
        return "It is over."

    return ThreadTool("spin", spin)


class ForkingTool(PlainTool):
    """Starts a shell that is gone at once and leaves children behind which hold its output open.

    The time limit ends it (A11); cancelled, it kills the whole process group.
    """

    def __init__(self, *, seconds: float = AN_HOUR_S) -> None:
        super().__init__(
            "fork", self._fork, description="Starts processes.", traits=ToolTraits(changes_something=True)
        )
        self.process_groups: list[int] = []
        self._seconds = seconds

    async def _fork(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        starting = asyncio.ensure_future(self._start())
        try:
            shell = await asyncio.shield(starting)  # cancelled half-way, asyncio would forget the children
            output, _ = await shell.communicate()
        finally:
            shell = await starting
            kill_group(shell.pid)
            await shell.communicate()
        return ToolResult(text=output.decode())

    async def _start(self) -> asyncio.subprocess.Process:
        shell = await asyncio.create_subprocess_exec(
            *("sh", "-c", HOLDS_ITS_PIPE, str(self._seconds)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self.process_groups.append(shell.pid)
        return shell


class RaisingTool(PlainTool):
    """Raises a new ``make_error()`` at every call. Three in a row end the run (B2), not the process."""

    def __init__(self, make_error: Callable[[], BaseException]) -> None:
        super().__init__("fail", self._fail, description="Fails.")
        self._make_error = make_error

    async def _fail(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        raise self._make_error()


class TimeStampTool(PlainTool):
    """Fails the same way each time, but for a time stamp in its words. The streak of errors ends it (B2)."""

    def __init__(self) -> None:
        super().__init__("fail_at", self._fail, description="Fails, and tells when.")

    async def _fail(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        return ToolResult(text=bad_functions.fail_with_time_stamp())


class FloodingTool(PlainTool):
    """Returns ``megabytes`` of text. Cut to what a model can read before it goes anywhere."""

    def __init__(self, *, megabytes: int = 50) -> None:
        super().__init__("flood", self._flood, description="Returns a lot.")
        self._megabytes = megabytes

    async def _flood(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        return ToolResult(text=bad_functions.return_50_mb(self._megabytes))


class OddTextTool(PlainTool):
    """Returns lone surrogates, NULs and escapes. Made safe or kept; the record can be read again."""

    def __init__(self) -> None:
        super().__init__("odd_text", self._odd, description="Returns odd characters.")

    async def _odd(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        return ToolResult(text=bad_functions.return_odd_text())


class WaitingTool(PlainTool):
    """Says for ever that it still waits. That is no lack of progress (B9): a limit ends it."""

    def __init__(self) -> None:
        super().__init__("wait", self._wait, description="Waits for a long process.")

    async def _wait(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        return ToolResult(text="Still waiting.", is_waiting=True)


class NonsenseTool(PlainTool):
    """Returns what is no result. An error of the tool; three in a row end the run (B2)."""

    def __init__(self) -> None:
        super().__init__("nonsense", self._nonsense, description="Returns nonsense.")

    async def _nonsense(self, arguments: str) -> ToolResult:  # noqa: ARG002 - a tool is given them
        return cast("ToolResult", 42)
