"""Commands in processes of their own, which die with all their children.

A command is the head of a session and process group of its own. Nothing outlives it: when it ends, is
cancelled or takes too long, the group is killed, and on Linux also what has left the group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from endstop.errors import ToolError, brief
from endstop.kernel.limits import whole
from endstop.tools.group import MARK, DeathGuard, kill_marked, signal_group
from endstop.tools.output import CappedOutput
from endstop.tools.threads import call_in_thread

MAX_OUTPUT_BYTES = 200_000
TERM_GRACE_S = 0.1
"""So long a group may take to end by itself once it was told to."""
KILL_WAIT_S = 0.1
PIPE_WAIT_S = 0.05
"""So long we wait for the last output when somebody still holds the pipe."""

_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR")
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
_POLL_S = 0.005
_READ_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What came of a command."""

    exit_code: int
    """Negative: the number of the signal that ended it."""
    output: str
    """Standard output and standard error, as they came."""
    is_cut: bool = False
    """The middle of the output was left out."""
    timed_out: bool = False


async def run_command(
    command: Sequence[str] | str,
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
) -> CommandResult:
    """Run a command (a text goes to ``sh -c``) to its end, or for ``timeout_s``.

    Without ``env`` it gets ``safe_environment()``. When this is cancelled, all its processes die first.
    """
    whole("max_output_bytes", max_output_bytes, smallest=1, largest=1_000_000_000)
    running = _RunningCommand(command, cwd=cwd, env=env, max_output_bytes=max_output_bytes)
    timed_out = False
    try:
        async with asyncio.timeout(timeout_s):
            await running.ended()
    except TimeoutError:
        timed_out = True
    finally:
        await running.stop()
    return running.result(timed_out=timed_out)


def safe_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The few variables that a command needs, and no secret among them."""
    given = os.environ if environment is None else environment
    return {
        name: value
        for name, value in given.items()
        if (name in _PASSED_ON or name.startswith("LC_")) and not is_secret(name)
    }


def is_secret(name: str) -> bool:
    """Whether a variable of that name is likely to hold a secret."""
    return any(word in name.upper() for word in _SECRET_WORDS)


class _RunningCommand:
    """A command and its process group, from start to death."""

    def __init__(
        self,
        command: Sequence[str] | str,
        *,
        cwd: str | Path | None,
        env: Mapping[str, str] | None,
        max_output_bytes: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._output = CappedOutput(max_output_bytes)
        self._mark = uuid.uuid4().hex
        self._guard = DeathGuard(self._mark)
        self._pipe_ended = asyncio.Event()
        read_end, write_end = os.pipe()
        try:
            environment = {**(safe_environment() if env is None else env), MARK: self._mark}
            self._process = _started(command, cwd=cwd, env=environment, output=write_end)
        except BaseException:
            os.close(read_end)
            self._guard.dismiss()
            raise
        finally:
            os.close(write_end)
        self._guard.watch(self._process.pid)
        os.set_blocking(read_end, False)
        self._read_end: int | None = read_end
        self._loop.add_reader(read_end, self._read)

    async def ended(self) -> None:
        """Wait for the command itself. What it left in the background does not count."""
        if not self._is_dead():
            await _watched(self._process.pid)
        while not self._is_dead():
            await asyncio.sleep(_POLL_S)

    async def stop(self) -> None:
        """Kill what is left of the group, take in the last output, leave nothing behind."""
        try:
            if not self._is_dead():
                signal_group(self._process.pid, signal.SIGTERM)
                await self._ended_within(TERM_GRACE_S)
            signal_group(self._process.pid, signal.SIGKILL)
            await call_in_thread(kill_marked, self._mark)
            await self._ended_within(KILL_WAIT_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PIPE_WAIT_S):
                    await self._pipe_ended.wait()
        finally:
            self._close()

    def result(self, *, timed_out: bool) -> CommandResult:
        return CommandResult(
            exit_code=-signal.SIGKILL if self._process.returncode is None else self._process.returncode,
            output=self._output.text(),
            is_cut=self._output.is_cut,
            timed_out=timed_out,
        )

    async def _ended_within(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.ended()

    def _is_dead(self) -> bool:
        """Whether it has ended. It is reaped only at the very end: until then its number is its own."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _read(self) -> None:
        if self._read_end is None:
            return
        try:
            piece = os.read(self._read_end, _READ_BYTES)
        except BlockingIOError:
            return
        if piece:
            self._output.add(piece)
        else:
            self._close_pipe()

    def _close(self) -> None:
        signal_group(self._process.pid, signal.SIGKILL)
        if self._is_dead():
            self._process.wait()
        else:  # it dies when the kernel lets it: somebody has to wait for that, but not we
            threading.Thread(target=self._process.wait, name="endstop-reaper", daemon=True).start()
        self._close_pipe()
        self._guard.dismiss()

    def _close_pipe(self) -> None:
        if self._read_end is not None:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = None
        self._pipe_ended.set()


def _started(
    command: Sequence[str] | str, *, cwd: str | Path | None, env: Mapping[str, str], output: int
) -> subprocess.Popen[bytes]:
    arguments = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    if not arguments:
        raise ToolError("The command is empty", to_do="Give a program to run")
    try:
        return subprocess.Popen(
            arguments,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        if cwd is not None and not Path(cwd).is_dir():
            raise ToolError(
                f"There is no folder {brief(str(cwd), most=300)} to run the command in"
            ) from error
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ToolError(f"The command {brief(arguments[0])} cannot be started: {why}") from error


async def _watched(pid: int) -> None:
    """Wait for the end of a process without asking again and again, where the system can do that."""
    try:
        watch = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(watch, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(watch)
        os.close(watch)
