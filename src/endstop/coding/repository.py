"""The user's repository: opened with clear words if it cannot be, and looked at without touching it (G8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from endstop.coding import branches
from endstop.coding.branches import RoundCommit, Standing
from endstop.coding.git import Git, shown
from endstop.errors import RepositoryError, brief
from endstop.tools.threads import call_in_thread

_MOST_NAMES = 5
_MOST_LOOKED_AT = 200
"""So many files are enough to see that there are some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository with at least one commit, and the tree of it that the user works in."""

    root: Path
    """The user's files."""
    common_dir: Path
    """What all worktrees share: objects and refs."""
    git_dir: Path
    """The git folder of the user's tree. Another than ``common_dir`` if that tree is itself a worktree."""
    head: str
    branch: str | None
    """None for a detached HEAD."""

    @property
    def common(self) -> Git:
        """Git for commits and refs."""
        return branches.common_git(self.common_dir)

    @property
    def own_tree(self) -> Git:
        """Git in the user's tree."""
        return Git(git_dir=self.git_dir, work_tree=self.root)


async def open_repository(path: str | Path) -> Repository:
    """The repository that a folder belongs to. Says what is wrong if a session cannot work with it."""
    folder = await call_in_thread(_folder, path)
    finding = Git(git_dir=None, folder=folder)
    found = await finding.run("rev-parse", "--absolute-git-dir", accepts=(0, 128))
    if found.exit_code:
        raise _not_a_repository(folder, found.complaint)
    if await finding.line("rev-parse", "--is-inside-work-tree") != "true":
        raise await _without_tree(finding, folder)
    git_dir = Path(found.text)
    root = Path(await finding.line("rev-parse", "--show-toplevel"))
    common_dir = folder / await finding.line("rev-parse", "--git-common-dir")
    head = await Git(git_dir=git_dir, work_tree=root).commit_of("HEAD")
    if head is None:
        raise RepositoryError(
            f"The repository {_named(root)} has no commit yet, so there is nothing to build on",
            to_do="Make a first commit, an empty one will do: git commit --allow-empty -m 'Begin'",
        )
    return Repository(
        root=root,
        common_dir=common_dir.resolve(),
        git_dir=git_dir,
        head=head,
        branch=await current_branch(Git(git_dir=git_dir, work_tree=root)),
    )


async def current_branch(git: Git) -> str | None:
    """The branch that is checked out; None for a detached HEAD."""
    done = await git.run("symbolic-ref", "--quiet", "HEAD", accepts=(0, 1))
    return done.text.removeprefix("refs/heads/") or None


async def concerns(repository: Repository) -> tuple[str, ...]:
    """What is unusual about a repository, and what that means for a session. Nothing of it forbids one."""
    said = (
        await _uncommitted(repository),
        await _detached(repository),
        await _submodules(repository),
        await _filtered(repository),
    )
    return tuple(one for one in said if one)


async def left_over(repository: Repository) -> str | None:
    """That earlier sessions are still open, if so. They are in nobody's way, but may have been forgotten."""
    sessions = await branches.open_sessions(repository.common)
    if not sessions:
        return None
    count = "1 earlier session is" if len(sessions) == 1 else f"{len(sessions)} earlier sessions are"
    return f"{count} still open here ({names(sessions)}): look at them, then accept or discard them."


async def standing_of(repository: Repository, session: str) -> Standing:
    """Whether a session's work is open, accepted, discarded, or unknown to git."""
    return await branches.standing_of(repository.common, session)


async def rounds_of(repository: Repository, session: str) -> tuple[RoundCommit, ...]:
    """The rounds of a session, each with its commit, whatever has become of the session."""
    return await branches.rounds_of(repository.common, session)


def names(of: Sequence[str]) -> str:
    """A few names for a sentence, and how many there are besides."""
    more = f" and {len(of) - _MOST_NAMES} more" if len(of) > _MOST_NAMES else ""
    return ", ".join(shown(one) for one in of[:_MOST_NAMES]) + more


def _folder(path: str | Path) -> Path:
    folder = Path(path).expanduser()
    if folder.is_dir():
        return folder.resolve()
    what = "is a file, not a folder" if folder.exists() else "does not exist"
    raise RepositoryError(
        f"{_named(folder)} {what}", allowed="the folder of a git repository", to_do="Give the right path"
    )


def _not_a_repository(folder: Path, complaint: str) -> RepositoryError:
    if "not a git repository" in complaint:
        return RepositoryError(
            f"{_named(folder)} is not in a git repository",
            allowed="a folder of one: a session works on a branch of its own",
            to_do="Make it one: git init, git add, git commit",
        )
    return RepositoryError(f"git cannot use {_named(folder)}: {shown(complaint.strip())}")


async def _without_tree(git: Git, folder: Path) -> RepositoryError:
    is_bare = await git.line("rev-parse", "--is-bare-repository") == "true"
    what = "is a bare repository, without files" if is_bare else "is inside a git folder, where no files are"
    return RepositoryError(
        f"{_named(folder)} {what}",
        allowed="a repository with its files checked out",
        to_do="Clone it, and give the clone" if is_bare else "Give the folder above it",
    )


async def _uncommitted(repository: Repository) -> str:
    status = await repository.own_tree.run(
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--ignore-submodules=all",
        "--untracked-files=normal",
    )
    count = len(status.items)
    if not count:
        return ""
    have = "1 file has a change" if count == 1 else f"{count:,} files have changes"
    return (
        f"{have} that no commit holds: the session begins from the last commit ({repository.head[:10]}), "
        "so it does not build on that, and leaves it as it is."
    )


async def _detached(repository: Repository) -> str:
    if repository.branch is not None:
        return ""
    return (
        "No branch is checked out (a detached HEAD): the session's work can be taken as a patch, or merged "
        "into a branch that you name and have checked out."
    )


async def _submodules(repository: Repository) -> str:
    staged = await repository.own_tree.run("ls-files", "-s", "-z")
    folders = [item.split("\t", 1)[1] for item in staged.items if item.startswith("160000 ")]
    if not folders:
        return ""
    return (
        f"It has submodules ({names(folders)}): in the session's worktree they are empty folders, and "
        "nothing that is written there is kept. Tests that need them will fail."
    )


async def _filtered(repository: Repository) -> str:
    git = repository.own_tree
    used = [name for name in await git.filters() if await _is_used(git, name)]
    if not used:
        return ""
    return (
        f"Some files go through a filter ({names(used)}), which is not run in the session's worktree: they "
        "are there as git stores them, and are committed as they are."
    )


async def _is_used(git: Git, name: str) -> bool:
    """Whether a file goes through that filter."""
    listed = await git.run(
        "ls-files",
        "-z",
        "--",
        f":(top,attr:filter={name})",
        accepts=(0, 128),
        most_bytes=_MOST_LOOKED_AT,
        may_be_cut=True,
    )
    return bool(listed.output)


def _named(path: Path) -> str:
    return brief(str(path), most=300)
