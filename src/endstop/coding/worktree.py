"""A session's own place to work: a worktree and a branch in the user's repository, a commit per round (G8).

Everything here can be done again after a kill at any point, and comes to the same. The user's own tree,
index, stash and settings are never touched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from endstop.coding import branches, places
from endstop.coding.branches import Opened, Standing, branch_of, branch_ref, note_ref, round_trailer
from endstop.coding.git import Git, shown
from endstop.coding.repository import Repository, names
from endstop.coding.staging import Staged, keep_index, staged
from endstop.errors import InvalidValueError, RepositoryError, brief
from endstop.kernel.limits import whole
from endstop.tools.threads import call_in_thread

MOST_DIFF_CHARS = 60_000
MOST_MESSAGE_CHARS = 20_000
CUT = "\n[... the rest of the diff is left out ...]\n"

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffStat:
    """How much was changed."""

    files: int = 0
    added: int = 0
    """Lines. A file that is not text has none."""
    removed: int = 0
    paths: tuple[str, ...] = field(default=(), compare=False)
    """Of the files, as git has them."""

    @property
    def lines(self) -> int:
        return self.added + self.removed


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """Where one session works."""

    repository: Repository
    session: str
    """The id of the run."""
    path: Path
    base: str
    """The commit it begins from."""

    def __post_init__(self) -> None:
        branch_of(self.session)
        _checked(self.base)
        if not self.path.is_absolute():
            raise InvalidValueError("path", str(self.path), allowed="a whole path, from / on")

    @property
    def branch(self) -> str:
        return branch_of(self.session)

    @property
    def is_there(self) -> bool:
        """Whether the folder is there, and git knows it."""
        admin = places.admin_of(self.repository.common_dir, self.path)
        return admin is not None and self.path.is_dir() and not self.path.is_symlink()

    async def ensure(self) -> None:
        """Make it, or make it again from its branch if the folder is gone, or mend what is half made."""
        await self._ensure_branch()
        admin = await self._added()
        await call_in_thread(places.mend, admin, self.path)
        await self._git().run("symbolic-ref", "HEAD", branch_ref(self.session))
        if not (admin / "index").exists():  # it is written last, when all files are there
            await self._check_out()

    async def commit(self, round: int, message: str) -> str:  # noqa: A002 - the word for it
        """The commit of a round, also of one that changed nothing. The same one, if nothing came since."""
        whole("round", round, smallest=1, largest=999_999)
        trailer = round_trailer(self.session, round)
        async with staged(self._git()) as now:
            if await self._is_committed(now):
                for made in await branches.rounds_of(self._common, self.session):
                    if made.round == round:
                        return made.commit
            return await self._committed(now, _cleaned(message) or f"Round {round}", trailer)

    async def checkpoint(self, message: str) -> str:
        """Commit what no commit holds yet; it is no round. The last commit, then."""
        async with staged(self._git()) as now:
            if await self._is_committed(now):
                return await self.tip()
            return await self._committed(now, _cleaned(message) or "Checkpoint")

    async def snapshot(self) -> str:
        """A commit of the present content that is on no branch: something to go back to."""
        async with staged(self._git()) as now:
            commit = await self._commit_object(now, await self.tip(), "Snapshot")
        await self._common.run("update-ref", note_ref(self.session, "snapshot"), commit)
        return commit

    async def last_snapshot(self) -> str:
        """The snapshot that was taken last, by whichever process."""
        taken = await self._common.commit_of(note_ref(self.session, "snapshot"))
        if taken is None:
            raise RepositoryError(f"The snapshot of session {self.session} is gone")
        return taken

    async def restore(self, commit: str) -> None:
        """Bring back the content of a commit. Files that git ignores stay; the branch stays where it is."""
        found = await self._common.commit_of(_checked(commit))
        if found is None:
            raise RepositoryError(f"There is no commit {commit} to restore")
        async with staged(self._git()) as now:  # so that git knows each file, and takes away the new ones
            await now.git.run("read-tree", "--reset", "-u", found)
            keep_index(now.git)

    async def stat(self, since: str | None = None, until: str | None = None) -> DiffStat:
        """How much was changed from a commit, or the base, to another, or the present content."""
        counted = await self._common.run(
            "diff-tree",
            "-r",
            "-z",
            "--numstat",
            "--no-renames",
            _checked(since or self.base),
            _checked(until) if until else await self.tree(),
        )
        lines = [item.split("\t", 2) for item in counted.items]
        return DiffStat(
            files=len(lines),
            added=sum(int(added) for added, _, _ in lines if added != "-"),
            removed=sum(int(removed) for _, removed, _ in lines if removed != "-"),
            paths=tuple(path for _, _, path in lines),
        )

    async def diff(
        self, since: str | None = None, until: str | None = None, *, most_chars: int = MOST_DIFF_CHARS
    ) -> str:
        """The changes from a commit, or the base, to another, or the present content."""
        whole("most_chars", most_chars, smallest=100, largest=10_000_000)
        shown_diff = await self._common.run(
            "diff-tree",
            "-r",
            "-p",
            "-M",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            _checked(since or self.base),
            _checked(until) if until else await self.tree(),
            most_bytes=4 * most_chars,
            may_be_cut=True,
        )
        text = shown_diff.output.decode(errors="replace")
        if not shown_diff.is_cut and len(text) <= most_chars:
            return text
        return text[: most_chars - len(CUT)] + CUT

    async def tip(self) -> str:
        """The last commit of the branch."""
        tip = await self._common.commit_of(branch_ref(self.session))
        if tip is None:
            raise RepositoryError(
                f"The branch {self.branch} is gone", to_do="Start a new session; this one cannot go on"
            )
        return tip

    async def tree(self) -> str:
        """The present content, as a tree."""
        async with staged(self._git()) as now:
            return now.tree

    @property
    def _common(self) -> Git:
        return self.repository.common

    def _admin(self) -> Path:
        admin = places.admin_of(self.repository.common_dir, self.path)
        if admin is None or not self.is_there:
            raise RepositoryError(
                f"The worktree {brief(str(self.path), most=300)} of session {self.session} is not there",
                to_do=f"Its commits are on the branch {self.branch}; resuming the session makes it again",
            )
        return admin

    def _git(self) -> Git:
        """Git in the worktree, by the git folder that no agent writes to."""
        return Git(git_dir=self._admin(), work_tree=self.path)

    async def _ensure_branch(self) -> None:
        """The branch, and what is noted beside it, in an order that lets a kill in between be seen."""
        common, standing = self._common, await branches.standing_of(self._common, self.session)
        if standing in (Standing.ACCEPTED, Standing.DISCARDED):
            raise RepositoryError(
                f"The session {self.session} was {standing} already", to_do="Start a new session"
            )
        opened = await branches.opened_of(common, self.session)
        if standing is Standing.OPEN and opened is None:
            raise RepositoryError(
                f"There is a branch {self.branch} already, and it is not this session's",
                to_do="Rename or delete it, then try again",
            )
        began = await common.commit_of(note_ref(self.session, "base"))
        if standing is Standing.GONE and began is not None:
            await self.tip()
        branch = self.repository.branch if opened is None else opened.branch
        noted = Opened(base=self.base, branch=branch, worktree=str(self.path))
        if opened != noted:
            await branches.write_opened(common, self.session, noted)
        if standing is Standing.GONE:
            await self._make_branch()
        if began is None:
            await common.run("update-ref", note_ref(self.session, "base"), self.base)

    async def _make_branch(self) -> None:
        made = await self._common.run(
            "update-ref",
            branch_ref(self.session),
            self.base,
            "",
            accepts=(0, 1, 128),
        )
        if made.exit_code:
            await self._common.run("update-ref", "-d", note_ref(self.session, "opened"))
            raise RepositoryError(
                f"The branch {self.branch} cannot be made: {shown(made.complaint.strip())}",
                to_do="A branch called endstop is in its way, if there is one: rename that",
            )

    async def _added(self) -> Path:
        """The git folder of the worktree. One session at a time: git fails over one that is half added."""
        common_dir = self.repository.common_dir
        async with places.alone(common_dir):
            admin = await call_in_thread(places.swept, common_dir, self.path, self.session)
            if admin is not None:
                return admin
            await self._common.run("worktree", "add", "--no-checkout", "--", str(self.path), self.branch)
            return self._admin()

    async def _check_out(self) -> None:
        """Put the files of the branch there; over what is there, if this was begun before."""
        git = await self._git().without_filters()
        making = replace(git, index=self._admin() / "endstop-index")
        await making.run("read-tree", "--reset", "-u", await self.tip())
        keep_index(making)

    async def _is_committed(self, now: Staged) -> bool:
        return await self._common.line("rev-parse", f"{await self.tip()}^{{tree}}") == now.tree

    async def _committed(self, now: Staged, message: str, trailer: str = "") -> str:
        tip = await self.tip()
        left_out = f"Left out, as git cannot take it: {names(now.left_out)}" if now.left_out else ""
        text = "\n\n".join(part for part in (message, left_out, trailer) if part)
        commit = await self._commit_object(now, tip, text)
        await self._common.run("update-ref", "-m", "endstop", branch_ref(self.session), commit, tip)
        keep_index(now.git)
        return commit

    async def _commit_object(self, now: Staged, parent: str, text: str) -> str:
        return await commit_object(self._common, now.tree, parent, text)


async def commit_object(git: Git, tree: str, parent: str, text: str) -> str:
    """A commit in the user's name, as far as git knows it. No branch points to it yet."""
    writing = await git.with_author()
    return await writing.line(
        "commit-tree", tree, "-p", parent, "-F", "-", given=text.encode(errors="replace")
    )


def _cleaned(message: str) -> str:
    return message.replace("\0", "").strip()[:MOST_MESSAGE_CHARS].strip()


def _checked(commit: str) -> str:
    """A commit by its number, and nothing that git could take for something else."""
    if not _COMMIT.fullmatch(commit):
        raise InvalidValueError("commit", commit, allowed="the number of a commit, as git writes it")
    return commit
