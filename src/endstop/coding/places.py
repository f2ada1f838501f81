"""Where git keeps what it knows of a worktree, and how that is put right, or taken away, by hand.

By hand, because git's own commands for it believe what is written in the worktree, and look into it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from endstop.coding.staging import STAGING
from endstop.errors import RepositoryError, brief

WAIT_S = 60.0
"""So long one session waits for another to make its worktree."""

_POLL_S = 0.02
_PARTS = ("HEAD", "commondir", "gitdir")
_LOCKS = ("index.lock", "HEAD.lock", "endstop-index", "endstop-index.lock")


def admin_of(common_dir: Path, worktree: Path) -> Path | None:
    """The folder in the repository that belongs to a worktree, or None."""
    wanted = worktree.resolve()
    for admin in _admins(common_dir):
        with contextlib.suppress(OSError):
            written = os.fsdecode((admin / "gitdir").read_bytes()).removesuffix("\n")
            if (admin / written).parent.resolve() == wanted:
                return admin
    return None


def swept(common_dir: Path, worktree: Path, session: str) -> Path | None:
    """Take away what a kill, or somebody's hand, has left half made. The git folder, if all is whole."""
    for lock in (f"refs/heads/endstop/{session}.lock", f"refs/endstop/{session}/opened.lock"):
        (common_dir / lock).unlink(missing_ok=True)
    for unfinished in _admins(common_dir):
        is_ours = session in worktree.name and unfinished.name == worktree.name
        if is_ours and not (unfinished / "gitdir").exists():
            shutil.rmtree(unfinished)
    admin = admin_of(common_dir, worktree)
    if worktree.is_symlink() or (worktree.exists() and not worktree.is_dir()):
        raise _in_the_way(worktree)
    if admin is not None and worktree.is_dir() and all((admin / part).exists() for part in _PARTS):
        return admin
    if admin is not None:
        shutil.rmtree(admin)
    if worktree.is_dir():
        inside = os.listdir(worktree)
        if inside not in ([], [".git"]) or (worktree / ".git").is_dir():
            raise _in_the_way(worktree)
        (worktree / ".git").unlink(missing_ok=True)
    return None


def mend(admin: Path, worktree: Path) -> None:
    """Take away locks that nobody holds any more, and lead the worktree back to its repository."""
    for lock in _LOCKS:
        (admin / lock).unlink(missing_ok=True)
    for staging in admin.glob(f"{STAGING}*"):
        shutil.rmtree(staging)
    locked = admin / "locked"
    if locked.exists() and locked.read_bytes().startswith(b"initializing"):
        locked.unlink()
    pointer, content = worktree / ".git", b"gitdir: " + os.fsencode(admin) + b"\n"
    if pointer.is_file() and not pointer.is_symlink() and pointer.read_bytes() == content:
        return
    remove(pointer)
    pointer.write_bytes(content)


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with all in it, also if its rights forbid that."""
    if path.is_dir() and not path.is_symlink():
        _give_rights(path)
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_admin(common_dir: Path, worktree: Path) -> None:
    """Have git forget a worktree."""
    admin = admin_of(common_dir, worktree)
    if admin is not None:
        remove(admin)
    with contextlib.suppress(OSError):  # there are others
        (common_dir / "worktrees").rmdir()


@asynccontextmanager
async def alone(common_dir: Path) -> AsyncGenerator[None]:
    """Hold a lock on a repository that other sessions wait for, in any process. It dies with us."""
    handle = os.open(common_dir, os.O_RDONLY)
    try:
        await _locked(handle)
        yield
    finally:
        os.close(handle)


async def _locked(handle: int) -> None:
    try:
        async with asyncio.timeout(WAIT_S):
            while True:
                with contextlib.suppress(BlockingIOError):
                    return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                await asyncio.sleep(_POLL_S)
    except TimeoutError as error:
        raise RepositoryError(
            f"Another session has been making its worktree for {WAIT_S:g} s",
            to_do="Wait for it or end it, then try again",
        ) from error


def _admins(common_dir: Path) -> Iterator[Path]:
    with contextlib.suppress(FileNotFoundError):
        yield from sorted((common_dir / "worktrees").iterdir())


def _give_rights(folder: Path) -> None:
    """An agent may have taken the right to change its folders from itself, and so from us."""
    folder.chmod(stat.S_IRWXU)
    for parent, names, _ in os.walk(folder):
        for inner in (Path(parent) / name for name in names):
            if not inner.is_symlink():
                inner.chmod(stat.S_IRWXU)


def _in_the_way(worktree: Path) -> RepositoryError:
    return RepositoryError(
        f"There is something at {brief(str(worktree), most=300)} that is not this session's worktree",
        allowed="nothing, or an empty folder",
        to_do="Move it away, then try again",
    )
