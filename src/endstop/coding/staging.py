"""The present content of a worktree as a tree of git's, whatever an agent has put there.

It is gathered in an index of its own, beside the worktree's, so that looking changes nothing. Files are taken
as they are: no filter runs. A repository inside the worktree is taken as its files, never as a link to
commits that nobody else has; submodules stay as they were, and are not looked into, since git would obey what
is written there. What git cannot take at all is left out, and named.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from endstop.coding.git import Git

INDEX = "index"
STAGING = "endstop-staging-"
"""How the folders of such indexes begin, in the worktree's git folder."""

_GITLINK = "160000 "
_FILE, _PROGRAM, _LINK = "100644", "100755", "120000"
_OPENER = ".endstop-opener"
"""A name inside a nested repository that makes git look into it."""
_MOST_NESTING = 40
_MOST_TAKEN_ALONE = 500
"""Taking files one by one is slow, and needed only when an agent is up to something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """The present content."""

    git: Git
    """With the index it was gathered in."""
    tree: str
    left_out: tuple[str, ...] = ()
    """What git could not take."""


@asynccontextmanager
async def staged(git: Git) -> AsyncGenerator[Staged]:
    """Gather the present content of a worktree. The index of it is gone afterwards, unless it is kept."""
    assert git.git_dir is not None
    with tempfile.TemporaryDirectory(dir=git.git_dir, prefix=STAGING) as folder:
        gathering = replace(await git.without_filters(), index=Path(folder) / INDEX)
        own_index = git.git_dir / INDEX
        if own_index.exists():  # with its time: git tells by it which files may have changed since
            shutil.copy2(own_index, Path(folder) / INDEX)
        left_out = await _gather(gathering)
        yield Staged(git=gathering, tree=await gathering.line("write-tree"), left_out=left_out)


def keep_index(git: Git) -> None:
    """From now on the gathered index is that of the worktree."""
    assert git.git_dir is not None
    assert git.index is not None
    os.replace(git.index, git.git_dir / INDEX)


async def _gather(git: Git) -> tuple[str, ...]:
    await _hold_submodules(git)
    await _forget_files_that_are_folders(git)
    closed = await _open_nested(git)
    added = await git.run(
        "add",
        "--all",
        "--ignore-errors",
        "--",
        ".",
        *(f":(top,exclude,literal){folder}" for folder in closed),
        accepts=range(256),
    )
    if added.exit_code == 0:
        return closed
    return (*closed, *await _take_alone(git, closed))


async def _hold_submodules(git: Git) -> None:
    """Have git leave submodules alone, and not ask what is in them."""
    listed = await git.run("ls-files", "-s", "-z")
    links = [item.split("\t", 1)[1] for item in listed.items if item.startswith(_GITLINK)]
    if links:
        await git.run("update-index", "--skip-worktree", "-z", "--stdin", given=_joined(links))


async def _forget_files_that_are_folders(git: Git) -> None:
    """Else git would take such a folder for a submodule, if a repository is in it."""
    assert git.work_tree is not None
    listed = await git.run("ls-files", "--modified", "--deleted", "-z")
    folders = [name for name in set(listed.items) if _is_folder(git.work_tree / name)]
    if folders:
        await git.run("update-index", "--force-remove", "-z", "--stdin", given=_joined(folders))


async def _open_nested(git: Git) -> tuple[str, ...]:
    """Have git see repositories inside the worktree as folders. Those too deep inside each other stay closed.

    Git looks into a folder if its index has a file of it. So it is told of one, which is not there, and which
    is forgotten when the rest is added.
    """
    nested: tuple[str, ...] = ()
    for _ in range(_MOST_NESTING):
        listed = await git.run("ls-files", "--others", "--exclude-standard", "-z")
        nested = tuple(item for item in listed.items if item.endswith("/"))
        if not nested:
            return ()
        empty = await git.line("hash-object", "-w", "--stdin")
        openers = _joined([f"{_FILE} {empty}\t{folder}{_OPENER}" for folder in nested])
        await git.run("update-index", "--add", "--replace", "-z", "--index-info", given=openers)
    return nested


async def _take_alone(git: Git, closed: tuple[str, ...]) -> tuple[str, ...]:
    """Take what is still missing file by file, without regard to attributes. What was left out."""
    listed = await git.run("ls-files", "--others", "--modified", "--deleted", "--exclude-standard", "-z")
    missing = sorted({item for item in listed.items if not item.startswith(closed)})
    taken = [name for name in missing[:_MOST_TAKEN_ALONE] if await _is_taken(git, name)]
    return tuple(name for name in missing if name not in set(taken))


async def _is_taken(git: Git, name: str) -> bool:
    assert git.work_tree is not None
    path = git.work_tree / name
    try:
        entry = await _entry(git, path)
    except FileNotFoundError:
        await git.run("update-index", "--force-remove", "-z", "--stdin", given=_joined([name]))
        return True
    except OSError:  # it cannot be read: not by us, so not by git
        return False
    if entry is None:
        return False
    done = await git.run(
        "update-index",
        "--add",
        "--replace",
        "-z",
        "--index-info",
        given=_joined([f"{entry}\t{name}"]),
        accepts=range(256),
    )
    return done.exit_code == 0 and "Ignoring path" not in done.complaint


async def _entry(git: Git, path: Path) -> str | None:
    """Mode and number of a file's content as it is; None for what is neither a file nor a link."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        target = os.fsencode(os.readlink(path))
        return f"{_LINK} {await git.line('hash-object', '-w', '--stdin', given=target)}"
    if not stat.S_ISREG(mode):
        return None
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        number = await git.line("hash-object", "-w", "--stdin", given=file)
    return f"{_PROGRAM if mode & stat.S_IXUSR else _FILE} {number}"


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _joined(items: list[str]) -> bytes:
    """Items for a command with ``-z``."""
    return b"".join(os.fsencode(item) + b"\0" for item in items)
