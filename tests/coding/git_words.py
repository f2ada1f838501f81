"""Real repositories for the tests of the workspace, and the words to look at them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from endstop.coding.repository import Repository, open_repository
from endstop.coding.worktree import Worktree

SESSION = "run-1"


def git(folder: Path, *words: str, given: bytes = b"") -> str:
    """Plain git, as a user would run it."""
    done = subprocess.run(["git", *words], cwd=folder, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode(errors="surrogateescape").removesuffix("\n")


def made_repository(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """A repository on branch main with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, files or {"code.py": "a = 1\n", "README": "read me\n"})
    committed(folder, "Begin")
    return folder


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def committed(folder: Path, message: str) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


async def worktree_in(folder: Path, session: str = SESSION, place: Path | None = None) -> Worktree:
    """A session's worktree that is made, beside the repository."""
    repository = await open_repository(folder)
    worktree = worktree_of(repository, session, place)
    await worktree.ensure()
    return worktree


def worktree_of(repository: Repository, session: str = SESSION, place: Path | None = None) -> Worktree:
    path = place or repository.root.parent / "worktrees" / session
    return Worktree(repository=repository, session=session, path=path, base=repository.head)


def files_at(folder: Path, commit: str) -> dict[str, str]:
    """The files of a commit, with their modes."""
    listed = git(folder, "ls-tree", "-r", "-z", commit).split("\0")
    return {item.split("\t", 1)[1]: item.split(" ", 1)[0] for item in listed if item}


def content(folder: Path, commit: str, name: str) -> str:
    return subprocess.run(
        ["git", "cat-file", "blob", f"{commit}:{name}"], cwd=folder, capture_output=True, check=True
    ).stdout.decode()


def everything(folder: Path) -> dict[str, bytes]:
    """The bytes of all the user's files, the index, the stash, HEAD and the settings."""
    names = [name for name in folder.rglob("*") if name.is_file() and ".git" not in name.parts]
    own = [".git/index", ".git/HEAD", ".git/config", ".git/refs/stash", ".git/logs/refs/stash"]
    names += [folder / name for name in own if (folder / name).exists()]
    return {str(name): name.read_bytes() for name in names}
