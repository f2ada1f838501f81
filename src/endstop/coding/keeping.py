"""What becomes of a session's work: accepted, discarded, or taken back to an earlier round (G8).

Only ``accept`` by a merge touches the user's tree, and only if nothing of the user's is in the way. Whatever
is refused leaves everything as it was, and no commit of a session is ever lost.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from endstop.coding import branches, places
from endstop.coding.branches import Opened, Standing, branch_of, branch_ref, note_ref
from endstop.coding.repository import Repository, current_branch, names
from endstop.coding.worktree import Worktree, commit_object
from endstop.errors import RepositoryError, brief
from endstop.tools.threads import call_in_thread

MOST_PATCH_BYTES = 1_000_000_000

_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
_MERGE_SETTINGS = (
    "merge.autoStash=false",
    "merge.verifySignatures=false",
    "merge.log=false",
    "rerere.enabled=false",
)


class How(StrEnum):
    """In which form work is accepted."""

    MERGE = "merge"
    PATCH = "patch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Work that the user has taken."""

    how: How
    branch: str | None = None
    """The user's branch that it was merged into; None for a patch."""
    commit: str | None = None
    """The last commit of that branch now."""
    is_fast_forward: bool = False
    """No merge commit was needed."""
    patch: bytes = b""
    """For ``git apply``. Bytes, as the files in it need not be UTF-8."""


async def accept(
    repository: Repository, session: str, *, how: How | str = How.MERGE, into: str | None = None
) -> Accepted:
    """Take the work of a session. What no commit holds yet is taken, too.

    A merge goes into the branch that is checked out: the one the session began on, or the one named by
    ``into``. Then the worktree and the branch of the session are gone; its rounds can still be looked at. A
    patch changes nothing.
    """
    how = How(how)
    worktree, opened = await _open_worktree(repository, session)
    if how is How.PATCH:
        return Accepted(how=how, patch=await _patch(worktree))
    branch = await _target(repository, opened, into)
    if worktree.is_there:
        await worktree.checkpoint("What was left when the session was accepted")
    tip = await worktree.tip()
    await _require_clear_way(repository, tip)
    commit, is_fast_forward = await _merged(repository, session, tip)
    await repository.common.run("update-ref", note_ref(session, Standing.ACCEPTED), tip)
    await _clear_away(repository, session)
    return Accepted(how=how, branch=branch, commit=commit, is_fast_forward=is_fast_forward)


async def discard(repository: Repository, session: str) -> str:
    """Remove the worktree and the branch of a session. Its last commit, which a ref still leads to."""
    if await branches.standing_of(repository.common, session) is not Standing.DISCARDED:
        worktree, _ = await _open_worktree(repository, session)
        if worktree.is_there:
            with contextlib.suppress(RepositoryError, OSError):  # what cannot be saved was to go anyway
                await worktree.checkpoint("What was left when the session was discarded")
        await repository.common.run("update-ref", note_ref(session, Standing.DISCARDED), await worktree.tip())
    await _clear_away(repository, session)
    last = await branches.tip_of(repository.common, session)
    assert last is not None
    return last


async def restore_round(repository: Repository, session: str, round: int) -> str:  # noqa: A002 - its name
    """Bring back the content of a round, as a new commit: what came after it stays in the history."""
    worktree, _ = await _open_worktree(repository, session)
    rounds = await branches.rounds_of(repository.common, session)
    wanted = next((one.commit for one in rounds if one.round == round), None)
    if wanted is None:
        there = ", ".join(str(one.round) for one in rounds)
        raise RepositoryError(f"The session {session} has no round {round}", allowed=there or "none yet")
    message = f"Restore round {round}"
    if worktree.is_there:
        await worktree.checkpoint(f"What was there before round {round} was restored")
        await worktree.restore(wanted)
        return await worktree.checkpoint(message)
    return await _restored_on_branch(worktree, wanted, message)


async def _open_worktree(repository: Repository, session: str) -> tuple[Worktree, Opened]:
    """The worktree of a session that is still open, whether its folder is there or not."""
    common = repository.common
    standing = await branches.standing_of(common, session)
    opened = await branches.opened_of(common, session)
    match standing:
        case Standing.OPEN if opened is not None:
            worktree = Worktree(
                repository=repository, session=session, path=Path(opened.worktree), base=opened.base
            )
            return worktree, opened
        case Standing.ACCEPTED:
            await _clear_away(repository, session)  # in case it was killed in the middle of that
            raise RepositoryError(f"The session {session} was accepted already: its work is in your branch")
        case Standing.DISCARDED:
            raise RepositoryError(
                f"The session {session} was discarded",
                to_do=f"Its last commit is still there: git branch NAME {note_ref(session, standing)}",
            )
        case _:
            raise RepositoryError(
                f"This repository knows no session {session}",
                allowed=", ".join(await branches.open_sessions(common)) or "none is open here",
                to_do=f"Was its branch {branch_of(session)} deleted, or is this another repository?",
            )


async def _patch(worktree: Worktree) -> bytes:
    until = await worktree.tree() if worktree.is_there else await worktree.tip()
    written = await worktree.repository.common.run(
        "diff-tree",
        "-r",
        "-p",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        worktree.base,
        until,
        most_bytes=MOST_PATCH_BYTES,
    )
    return written.output


async def _target(repository: Repository, opened: Opened, into: str | None) -> str:
    """The branch to merge into, which has to be checked out, with nothing else under way."""
    for name, what in _UNDER_WAY.items():
        if (repository.git_dir / name).exists():
            raise RepositoryError(
                f"A {what} is under way in {brief(str(repository.root), most=300)}",
                to_do="Finish or abort it first",
            )
    wanted, current = into or opened.branch, await current_branch(repository.own_tree)
    if wanted is None:
        raise RepositoryError(
            "The session began on no branch (a detached HEAD), so it is not clear what to merge into",
            to_do="Check out a branch and name it, or take a patch",
        )
    if current != wanted:
        standing_on = "no branch" if current is None else f"the branch {current}"
        raise RepositoryError(
            f"Your tree is on {standing_on}, and the work is to go into {wanted}",
            to_do=f"git switch {wanted}, or name the branch you are on, or take a patch",
        )
    return wanted


async def _require_clear_way(repository: Repository, tip: str) -> None:
    """Refuse to write over files that git does not know: it would spare them, but not if it ignores them."""
    new = await repository.own_tree.run(
        "diff-tree", "-r", "-z", "--name-only", "--diff-filter=A", "--no-renames", "HEAD", tip
    )
    in_the_way = [name for name in new.items if os.path.lexists(repository.root / name)]
    if in_the_way:
        raise _changes_in_the_way(in_the_way)


async def _merged(repository: Repository, session: str, tip: str) -> tuple[str, bool]:
    """Merge into the user's tree, or leave it as it was. Its commit now, and whether it just moved on."""
    git = await replace(repository.own_tree, settings=_MERGE_SETTINGS).with_author()
    merge = await git.run(
        "merge",
        "--ff",
        "--commit",
        "--no-squash",
        "--no-edit",
        "--no-verify",
        "--no-gpg-sign",
        "--no-stat",
        "-m",
        f"Merge the work of session {session}",
        branch_ref(session),
        accepts=range(256),
    )
    if merge.exit_code == 0:
        head = await git.line("rev-parse", "HEAD")
        return head, head == tip
    if (repository.git_dir / "MERGE_HEAD").exists():
        unmerged = await git.run("ls-files", "--unmerged", "-z")
        conflicts = sorted({item.split("\t", 1)[1] for item in unmerged.items})
        await git.run("merge", "--abort")
        raise RepositoryError(
            f"The work conflicts with what you have committed meanwhile, in {names(conflicts)}; "
            "nothing was changed",
            to_do=f"Merge it by hand: git merge {branch_of(session)}",
        )
    named = [line[1:] for line in merge.complaint.splitlines() if line.startswith("\t")]
    if named:
        raise _changes_in_the_way(named)
    raise RepositoryError(f"git refuses to merge, and nothing was changed: {merge.complaint.strip()}")


async def _restored_on_branch(worktree: Worktree, wanted: str, message: str) -> str:
    common, tip = worktree.repository.common, await worktree.tip()
    tree = await common.line("rev-parse", f"{wanted}^{{tree}}")
    if tree == await common.line("rev-parse", f"{tip}^{{tree}}"):
        return tip
    commit = await commit_object(common, tree, tip, message)
    await common.run("update-ref", "-m", "endstop", branch_ref(worktree.session), commit, tip)
    return commit


async def _clear_away(repository: Repository, session: str) -> None:
    """Remove worktree and branch. The folder first: as long as git knows it, it is known to be ours."""
    opened = await branches.opened_of(repository.common, session)
    if opened is not None:
        await call_in_thread(_remove_worktree, repository.common_dir, Path(opened.worktree))
    for ref in (branch_ref(session), note_ref(session, "snapshot")):
        await repository.common.run("update-ref", "-d", ref)


def _remove_worktree(common_dir: Path, path: Path) -> None:
    if places.admin_of(common_dir, path) is not None:
        places.remove(path)
        places.remove_admin(common_dir, path)


def _changes_in_the_way(files: list[str]) -> RepositoryError:
    return RepositoryError(
        f"Changes of yours that no commit holds are in the way: {names(files)}; nothing was changed",
        to_do="Commit them or move them away, then accept again; or take a patch",
    )
