"""Commands that are kept in: they write in one folder only, see no secret, take no more than they may (G8).

Bubblewrap does that where it is there. Where it is not, what is left are limits, and ``words`` says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from signal import SIGKILL

from endstop.errors import InvalidValueError, ToolError
from endstop.kernel.limits import whole
from endstop.tools.footprint import CONFINED, MOST_PROCESSES, Watch
from endstop.tools.processes import CommandResult, run_command, safe_environment
from endstop.tools.sandbox import PRIVATE_HOME, Bubblewrap, Openings, installed_bubblewrap, sandboxed
from endstop.tools.threads import call_in_thread
from endstop.tools.visible import outermost, rustup_home, visible_folders

MOST_FILE_BYTES = 1_000_000_000
"""The largest file a command can write."""

_MB = 1_000_000
_NAMES = Path("/etc/resolv.conf")
"""Often a link to where nothing else is visible."""
_SCRATCH = "endstop-scratch-"
_OLD_S = 86_400.0
_LIMITS = """
ulimit -c 0
ulimit -d "$1"
ulimit -f "$2"
ulimit -t "$3"
if [ "$4" != any ]; then ulimit -u "$4" || ulimit -p "$4"; fi
"""
_LIMITED = f'{{{_LIMITS}}} 2>/dev/null; shift 4; exec "$@"'
"""A shell sets the limits of the system, and then becomes the command. Private memory is what counts (-d):
address space that is only reserved (-v), as by Node, Go and Java, costs nothing."""
_FAILED_TO_START = "bwrap: "


class Confinement:
    """Runs commands in a folder, and keeps them there."""

    def __init__(
        self,
        folder: str | Path,
        *,
        readable: Sequence[str | Path] = (),
        network: bool = False,
        memory_mb: int = 2_048,
        bubblewrap: Bubblewrap | None = None,
    ) -> None:
        """``readable``: what else commands may read, such as the folder of the repository.

        ``memory_mb``: what a command and all it starts may take together.
        """
        whole("memory_mb", memory_mb, smallest=64, largest=1_000_000)
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise InvalidValueError("folder", str(folder), allowed="a folder that exists")
        self._readable = tuple(_checked(path) for path in readable)
        self._network = network
        self._memory_bytes = memory_mb * _MB
        self._bubblewrap = installed_bubblewrap() if bubblewrap is None else bubblewrap

    @property
    def is_sandboxed(self) -> bool:
        return self._bubblewrap.program is not None

    @property
    def words(self) -> str:
        """How commands are confined, for a person."""
        memory = f"{self._memory_bytes // _MB:,} MB of memory"
        if self.is_sandboxed:
            network = "the network is open" if self._network else "no network"
            return f"bubblewrap: only the worktree can be written, {network}, at most {memory}"
        return (
            f"path checks and resource limits only ({self._bubblewrap.why_not}): commands can read and write "
            f"what you can, and can use the network; at most {memory}"
        )

    async def run(
        self,
        command: str | Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
    ) -> CommandResult:
        """Run a command (a text goes to ``sh -c``) to its end, or for ``timeout_s``. Nothing of it is left.

        ``env`` comes on top of the few variables that every command gets. ``readable`` and ``writable`` are
        for this command only.
        """
        words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        if not words or not words[-1 if isinstance(command, str) else 0].strip():
            raise ToolError("The command is empty", to_do="Give a program to run")
        mark = uuid.uuid4().hex
        async with self._home() as home:
            environment = {**_environment(), **home, **(env or {}), CONFINED: mark}
            limited = ["/bin/sh", "-c", _LIMITED, "sh", *self._limits(timeout_s), *words]
            if self.is_sandboxed:
                limited = sandboxed(limited, self._bubblewrap, self.openings(readable, writable))
            return await self._watched(limited, environment, mark, timeout_s)

    async def _watched(
        self, command: list[str], environment: Mapping[str, str], mark: str, timeout_s: float
    ) -> CommandResult:
        watch = Watch(mark, most_bytes=self._memory_bytes)
        watching = asyncio.create_task(watch.keep())
        try:
            done = await run_command(command, cwd=self.folder, env=environment, timeout_s=timeout_s)
        finally:
            watch.end()
            await asyncio.wait({watching})
        watching.result()
        if self.is_sandboxed and done.exit_code == 1 and done.output.startswith(_FAILED_TO_START):
            raise ToolError(
                f"The command cannot be confined: {done.output[:300].strip()}", to_do="Tell the user"
            )
        if watch.excess:
            told = f"{done.output}\n[The command took {watch.excess}, and was killed with all it had started]"
            return replace(done, exit_code=done.exit_code or -SIGKILL, output=told.lstrip())
        return done

    def openings(self, readable: Sequence[Path] = (), writable: Sequence[Path] = ()) -> Openings:
        """What a command sees of the world outside."""
        names = (_NAMES,) if self._network and _NAMES.is_symlink() else ()
        return Openings(
            folder=self.folder,
            readable=outermost((*visible_folders(os.environ), *self._readable, *readable, *names)),
            writable=tuple(path.resolve() for path in writable),
            network=self._network,
            memory_bytes=self._memory_bytes,
        )

    def _limits(self, timeout_s: float) -> list[str]:
        """As the shell counts them: kilobytes, blocks of 512 bytes, seconds, processes.

        Where there is no sandbox, all other processes of the user would be counted as well: no such limit.
        """
        seconds = math.ceil(timeout_s) * (os.cpu_count() or 1) + 1
        processes = str(2 * MOST_PROCESSES) if self.is_sandboxed else "any"
        return [str(self._memory_bytes // 1_024), str(MOST_FILE_BYTES // 512), str(seconds), processes]

    @contextlib.asynccontextmanager
    async def _home(self) -> AsyncGenerator[dict[str, str]]:
        """The variables for a home and a place for temporary files that are the command's own."""
        if self.is_sandboxed:
            yield {"HOME": PRIVATE_HOME, "TMPDIR": "/tmp"}
            return
        async with scratch_folder() as home:
            yield {"HOME": str(home), "TMPDIR": str(home)}


@contextlib.asynccontextmanager
async def scratch_folder() -> AsyncGenerator[Path]:
    """A folder for a while. It is deleted at the end, with all that is in it.

    So are those of processes that were killed before they could do that, when they are a day old.
    """
    folder = Path(tempfile.mkdtemp(prefix=_SCRATCH)).resolve()
    try:
        await call_in_thread(_sweep, folder.parent)
        yield folder
    finally:
        await call_in_thread(shutil.rmtree, folder, ignore_errors=True)


def _sweep(place: Path) -> None:
    for left in place.glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError):  # somebody else's, or gone
            if time.time() - left.lstat().st_mtime > _OLD_S:
                shutil.rmtree(left, ignore_errors=True)


def _environment() -> dict[str, str]:
    environment = safe_environment()
    if (toolchains := rustup_home(os.environ)) is not None:
        environment["RUSTUP_HOME"] = str(toolchains)  # else it is looked for in the home, which is not ours
    return environment


def _checked(path: str | Path) -> Path:
    whole_path = Path(path).expanduser()
    if not whole_path.is_absolute() or whole_path == Path("/"):
        raise InvalidValueError(
            "readable", str(path), allowed="whole paths of folders and files, but not of the whole machine"
        )
    return whole_path
