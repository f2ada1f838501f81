"""Git, run so that a repository which an agent has worked in cannot make it do anything else.

Nothing is found by looking around: the git folder, the work tree and the index are named each time, because
an agent may have rewritten the ``.git`` of its worktree. Hooks, signing, monitors and maintenance are off,
the caller's ``GIT_…`` variables are not passed on, and nothing ever asks for a password.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from endstop.errors import RepositoryError, brief
from endstop.tools.group import close_pipes, signal_group
from endstop.tools.processes import safe_environment

TIMEOUT_S = 300.0
MOST_OUTPUT_BYTES = 256_000_000
"""More than any list of files. What may be longer, such as a diff, is asked for with a bound of its own."""

_MOST_COMPLAINT_BYTES = 20_000
_END_GRACE_S = 2.0
_READ_BYTES = 65_536

_AUTHOR = {"user.name": "Endstop", "user.email": "endstop@localhost"}
_SETTINGS = (
    # nothing is executed
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    # files are seen as they are, whatever the user has set for speed
    "core.trustctime=true",
    "core.checkStat=default",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.ignoreStat=false",
    # a file that git would rather not take is taken, or told of by us
    "core.safecrlf=false",
    "advice.addEmbeddedRepo=false",
    # the same words everywhere
    "core.quotePath=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "core.filesRefLockTimeout=3000",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitResult:
    """What git said."""

    exit_code: int
    output: bytes
    complaint: str
    """Its standard error."""
    is_cut: bool = False
    """There was more output than asked for."""

    @property
    def text(self) -> str:
        """The output without the end of its last line; what is not UTF-8 is replaced."""
        return self.output.decode(errors="replace").removesuffix("\n")

    @property
    def items(self) -> tuple[str, ...]:
        """The output of a command with ``-z``. Names keep their bytes, as ``os.fsdecode`` keeps them."""
        return tuple(os.fsdecode(item) for item in self.output.split(b"\0") if item)


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """Git on one git folder, and maybe one work tree and index."""

    git_dir: Path | None
    """None only to find it."""
    work_tree: Path | None = None
    index: Path | None = None
    folder: Path | None = None
    """Where it runs. The work tree, if not said; the git folder where there is none, as no attributes are
    there which an agent could have written."""
    settings: tuple[str, ...] = ()
    """More settings, as ``name=value``."""

    async def run(
        self,
        *arguments: str,
        given: bytes | BinaryIO = b"",
        accepts: Sequence[int] = (0,),
        most_bytes: int = MOST_OUTPUT_BYTES,
        may_be_cut: bool = False,
    ) -> GitResult:
        """Run a git command. Any other exit code than it ``accepts`` is a ``RepositoryError``."""
        done = await self._run(arguments, given, most_bytes)
        if done.is_cut and may_be_cut:
            return done
        if done.is_cut:
            raise RepositoryError(
                f"git {arguments[0]} gives more than {most_bytes:,} bytes",
                to_do="The repository is too large for this; look at what was added to it",
            )
        if done.exit_code not in accepts:
            raise RepositoryError(
                f"git {arguments[0]} failed: {shown(done.complaint.strip()) or f'exit code {done.exit_code}'}"
            )
        return done

    async def line(self, *arguments: str, given: bytes | BinaryIO = b"") -> str:
        """The one line that a command answers."""
        return (await self.run(*arguments, given=given)).text

    async def commit_of(self, name: str) -> str | None:
        """The commit that a ref or a number stands for, or None."""
        done = await self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", accepts=(0, 1, 128))
        return done.text if done.exit_code == 0 else None

    async def filters(self) -> tuple[str, ...]:
        """The names of the filters that git's configuration knows."""
        found = await self.run(
            "config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.", accepts=(0, 1)
        )
        return tuple(sorted({item.split(".", 1)[1].rsplit(".", 1)[0] for item in found.items}))

    async def without_filters(self) -> Git:
        """The same, but no filter runs, whatever attributes ask for it: files are taken as they are."""
        names = await self.filters()
        odd = [name for name in names if "=" in name or "\n" in name]
        if odd:
            raise RepositoryError(
                f"The filter {brief(odd[0])} in git's configuration cannot be switched off by its name",
                allowed="names without =",
                to_do="Rename it",
            )
        switched_off = (f"filter.{name}.{key}=" for name in names for key in ("clean", "smudge", "process"))
        not_required = (f"filter.{name}.required=false" for name in names)
        return replace(self, settings=(*self.settings, *switched_off, *not_required))

    async def with_author(self) -> Git:
        """The same, and able to write commits: in the user's name, or in ours if git does not know it."""
        missing: list[str] = []
        for key, ours in _AUTHOR.items():
            known = await self.run("config", key, accepts=(0, 1))
            if not known.text.strip():
                missing.append(f"{key}={ours}")
        return replace(self, settings=(*self.settings, *missing))

    async def _run(self, arguments: Sequence[str], given: bytes | BinaryIO, most_bytes: int) -> GitResult:
        environment = _environment()
        if self.index is not None:
            environment["GIT_INDEX_FILE"] = str(self.index)
        folder = self.folder or self.work_tree or self.git_dir
        if folder is None or not folder.is_dir():
            raise RepositoryError(f"There is no folder {brief(str(folder), most=300)}")
        process = await asyncio.create_subprocess_exec(
            _program(),
            *self._options(),
            *arguments,
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.PIPE if isinstance(given, bytes) else given,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await _answer(process, given if isinstance(given, bytes) else b"", most_bytes)
        except TimeoutError as error:
            raise RepositoryError(
                f"git {arguments[0]} did not end within {TIMEOUT_S:g} s",
                to_do="Look whether the disk is full or slow, then try again",
            ) from error
        finally:
            await _end(process)

    def _options(self) -> list[str]:
        options = ["--no-pager", "--no-optional-locks"]
        if self.git_dir is not None:
            options.append(f"--git-dir={self.git_dir}")
        if self.work_tree is not None:
            options.append(f"--work-tree={self.work_tree}")
        for setting in (*_SETTINGS, *self.settings):
            options += ["-c", setting]
        return options


def shown(text: str) -> str:
    """A name or a complaint of git's, fit for a message: what is not UTF-8 in it is replaced."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise RepositoryError("git is not installed, or not on the PATH", to_do="Install git, then try again")
    return os.path.abspath(found)  # else a PATH with "." in it finds what lies in the folder git runs in


def _environment() -> dict[str, str]:
    """What git needs to know the user's name, and nothing that steers it."""
    environment = safe_environment()
    if "XDG_CONFIG_HOME" in os.environ:
        environment["XDG_CONFIG_HOME"] = os.environ["XDG_CONFIG_HOME"]
    return environment | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}


async def _answer(process: asyncio.subprocess.Process, given: bytes, most_bytes: int) -> GitResult:
    async with asyncio.TaskGroup() as group:
        group.create_task(_feed(process, given))
        output = group.create_task(_read_output(process, most_bytes))
        complaint = group.create_task(_read_complaint(process))
    exit_code = await process.wait()
    kept, is_cut = output.result()
    return GitResult(
        exit_code=exit_code,
        output=kept,
        complaint=complaint.result().decode(errors="replace"),
        is_cut=is_cut,
    )


async def _feed(process: asyncio.subprocess.Process, given: bytes) -> None:
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has heard enough
        process.stdin.write(given)
        await process.stdin.drain()
    process.stdin.close()


async def _read_output(process: asyncio.subprocess.Process, most_bytes: int) -> tuple[bytes, bool]:
    """What it said, and whether that was too much. Then it is told to end, and heard out: it may be in the
    middle of a line that it cannot end otherwise."""
    assert process.stdout is not None
    kept = bytearray()
    is_cut = False
    while piece := await process.stdout.read(_READ_BYTES):
        if not is_cut:
            kept += piece
            is_cut = len(kept) > most_bytes
            if is_cut:
                signal_group(process.pid, signal.SIGTERM)
    return bytes(kept[:most_bytes]), is_cut


async def _read_complaint(process: asyncio.subprocess.Process) -> bytes:
    assert process.stderr is not None
    kept = bytearray()
    while piece := await process.stderr.read(_READ_BYTES):
        kept += piece[: max(0, _MOST_COMPLAINT_BYTES - len(kept))]
    return bytes(kept)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Git takes its locks away when it is asked to end; only if it does not is it killed."""
    try:
        if process.returncode is None:
            signal_group(process.pid, signal.SIGTERM)
            async with asyncio.timeout(_END_GRACE_S):
                await process.wait()
    except TimeoutError:
        signal_group(process.pid, signal.SIGKILL)
        await process.wait()
    finally:
        close_pipes(process)  # somebody may still hold their other ends
