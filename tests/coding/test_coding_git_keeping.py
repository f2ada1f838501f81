"""What becomes of a session's work: accepted, discarded or taken back, and never anything lost."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from git_words import (
    SESSION,
    committed,
    content,
    everything,
    files_at,
    git,
    made_repository,
    worktree_in,
    write,
)

from endstop.coding import places
from endstop.coding.keeping import How, accept, discard, restore_round
from endstop.coding.repository import Repository, open_repository, rounds_of, standing_of
from endstop.coding.worktree import Worktree
from endstop.errors import RepositoryError

pytestmark = pytest.mark.usefixtures("git_home")

BRANCH = f"endstop/{SESSION}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_repository(tmp_path / "repo")


async def worked(root: Path, files: dict[str, str] | None = None) -> Worktree:
    """A session with one round."""
    worktree = await worktree_in(root)
    write(worktree.path, files or {"code.py": "a = 2\n", "new.py": "n\n"})
    await worktree.commit(1, "One")
    return worktree


def trees(root: Path) -> tuple[dict[str, bytes], str, str]:
    """All that a refused ``accept`` must leave as it was. Not the index's bytes: git may note times in it."""
    files = {name: text for name, text in everything(root).items() if not name.endswith(".git/index")}
    return files, git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain=v1")


async def refused(root: Path, why: str, **how: str) -> RepositoryError:
    """``accept`` is refused, and nothing was changed."""
    before = trees(root)
    with pytest.raises(RepositoryError, match=why) as caught:
        await accept(await open_repository(root), SESSION, **how)
    assert trees(root) == before
    assert await standing_of(await open_repository(root), SESSION) == "open"
    return caught.value


# accept


@pytest.mark.guarantee("G8")
async def test_a_merge_moves_the_branch_on_if_it_can(root: Path) -> None:
    worktree = await worked(root)
    tip = await worktree.tip()
    accepted = await accept(worktree.repository, SESSION)
    assert (accepted.how, accepted.branch, accepted.commit, accepted.is_fast_forward) == (
        How.MERGE,
        "main",
        tip,
        True,
    )
    assert (root / "code.py").read_text() == "a = 2\n"
    assert (root / "new.py").read_text() == "n\n"
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "branch", "--list") == "* main"
    assert not worktree.path.exists()
    assert await standing_of(worktree.repository, SESSION) == "accepted"
    assert [one.round for one in await rounds_of(worktree.repository, SESSION)] == [1]


async def test_a_merge_joins_what_the_user_committed_meanwhile(root: Path, git_home: Path) -> None:
    worktree = await worked(root)
    write(root, {"mine.py": "m\n"})
    mine = committed(root, "Mine")
    git(root, "config", "merge.ff", "only")
    (git_home / ".gitconfig").unlink()
    accepted = await accept(worktree.repository, SESSION)
    assert not accepted.is_fast_forward
    assert git(root, "rev-parse", "HEAD^1") == mine
    assert git(root, "log", "-1", "--format=%s %an") == f"Merge the work of session {SESSION} Endstop"
    assert {"mine.py", "new.py"} <= {one.name for one in root.iterdir()}


async def test_what_no_commit_holds_yet_is_accepted_too(root: Path) -> None:
    worktree = await worked(root)
    write(worktree.path, {"last.py": "l\n"})
    await accept(worktree.repository, SESSION)
    assert (root / "last.py").read_text() == "l\n"


async def test_changes_of_the_user_elsewhere_do_not_hinder_a_merge(root: Path) -> None:
    worktree = await worked(root)
    write(root, {"README": "mine\n", "other": "o\n"})
    await accept(worktree.repository, SESSION)
    assert (root / "README").read_text() == "mine\n"
    assert (root / "code.py").read_text() == "a = 2\n"


@pytest.mark.guarantee("G8")
async def test_a_conflict_leaves_everything_as_it_was(root: Path) -> None:
    await worked(root)
    write(root, {"code.py": "a = 7\n"})
    committed(root, "Mine")
    write(root, {"README": "half done\n"})
    error = await refused(root, "conflicts with what you have committed meanwhile, in code.py")
    assert error.to_do == f"Merge it by hand: git merge {BRANCH}"
    assert not (root / ".git" / "MERGE_HEAD").exists()


@pytest.mark.parametrize("is_staged", [True, False])
async def test_changes_in_the_way_are_named_and_left(root: Path, is_staged: bool) -> None:
    await worked(root)
    write(root, {"code.py": "a = 7\n"})
    if is_staged:
        git(root, "add", "code.py")
    await refused(root, "are in the way: code.py")


@pytest.mark.parametrize("is_ignored", [True, False])
async def test_a_file_that_git_does_not_know_is_not_written_over(root: Path, is_ignored: bool) -> None:
    await worked(root)
    write(root, {"new.py": "mine\n"})
    if is_ignored:
        (root / ".git" / "info" / "exclude").write_text("new.py\n")
    await refused(root, "are in the way: new.py")


async def test_a_link_that_leads_nowhere_is_in_the_way_too(root: Path) -> None:
    await worked(root)
    (root / "new.py").symlink_to("nowhere")
    await refused(root, "are in the way: new.py")


async def test_another_branch_is_refused_unless_it_is_named(root: Path) -> None:
    await worked(root)
    git(root, "checkout", "-q", "-b", "other")
    await refused(root, "Your tree is on the branch other, and the work is to go into main")
    await refused(root, "to go into third", into="third")
    accepted = await accept(await open_repository(root), SESSION, into="other")
    assert accepted.branch == "other"
    assert git(root, "rev-parse", "main") != git(root, "rev-parse", "other")


async def test_a_detached_tree_is_refused(root: Path) -> None:
    await worked(root)
    git(root, "checkout", "-q", "--detach")
    await refused(root, "Your tree is on no branch")


async def test_a_session_begun_on_no_branch_has_to_be_told_where_to_go(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    await worked(root)
    git(root, "checkout", "-q", "main")
    await refused(root, "it is not clear what to merge into")
    assert (await accept(await open_repository(root), SESSION, into="main")).is_fast_forward


async def test_a_merge_of_the_users_own_is_not_aborted(root: Path) -> None:
    await worked(root)
    git(root, "checkout", "-q", "-b", "side")
    write(root, {"README": "side\n"})
    committed(root, "Side")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-commit", "--no-ff", "side")
    await refused(root, "A merge is under way")
    assert (root / ".git" / "MERGE_HEAD").exists()


async def test_another_refusal_of_git_is_told_in_its_words(root: Path) -> None:
    await worked(root)
    (root / ".git" / "index.lock").touch()
    await refused(root, "git refuses to merge, and nothing was changed: .*index.lock")


async def test_a_merge_that_was_killed_before_it_was_noted_is_finished(root: Path) -> None:
    worktree = await worked(root)
    git(root, "merge", "-q", BRANCH)  # or the user did it by hand
    accepted = await accept(worktree.repository, SESSION)
    assert accepted.commit == git(root, "rev-parse", "HEAD")
    assert not worktree.path.exists()


async def test_accepting_twice_is_told_and_finishes_what_was_left(root: Path) -> None:
    worktree = await worked(root)
    git(root, "merge", "-q", BRANCH)
    git(root, "update-ref", f"refs/endstop/{SESSION}/accepted", BRANCH)  # killed here
    with pytest.raises(RepositoryError, match="was accepted already"):
        await accept(worktree.repository, SESSION)
    assert not worktree.path.exists()
    assert git(root, "branch", "--list") == "* main"


async def test_a_worktree_that_is_gone_does_not_hinder_a_merge_or_a_patch(root: Path) -> None:
    worktree = await worked(root)
    places.remove(worktree.path)
    assert b"+a = 2" in (await accept(worktree.repository, SESSION, how="patch")).patch
    await accept(worktree.repository, SESSION)
    assert (root / "code.py").read_text() == "a = 2\n"
    assert git(root, "worktree", "list").count("\n") == 0


async def test_work_goes_into_a_worktree_of_the_users_own(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "mine"), "-b", "mine")
    worktree = await worked(tmp_path / "mine")
    assert (await accept(worktree.repository, SESSION)).branch == "mine"
    assert (tmp_path / "mine" / "new.py").exists()
    assert git(tmp_path / "mine", "status", "--porcelain") == ""
    assert (root / "code.py").read_text() == "a = 1\n"


@pytest.mark.guarantee("G8")
async def test_a_patch_changes_nothing_and_applies(root: Path, tmp_path: Path) -> None:
    write(root, {"gone": "g\n"})
    (root / "latin").write_bytes(b"caf\xe9\n")
    (root / "picture").write_bytes(b"\0\1\2" * 50)
    committed(root, "More")
    worktree = await worked(root, {"code.py": "a = 2\n", "dir/new name": "n\n"})
    (worktree.path / "latin").write_bytes(b"caf\xe9s\n")
    (worktree.path / "picture").write_bytes(b"\3\0\4" * 50)
    (worktree.path / "gone").unlink()
    (worktree.path / "link").symlink_to("code.py")
    before = everything(root), await worktree.tip()
    patch = (await accept(worktree.repository, SESSION, how="patch")).patch
    assert (everything(root), await worktree.tip()) == before
    assert await standing_of(worktree.repository, SESSION) == "open"
    git(root, "apply", "--index", "-", given=patch)
    assert git(root, "write-tree") == await worktree.tree()


# discard


@pytest.mark.guarantee("G8")
async def test_discarding_removes_worktree_and_branch_and_keeps_the_commits(root: Path) -> None:
    worktree = await worked(root)
    write(worktree.path, {"half.py": "h\n"})
    last = await discard(worktree.repository, SESSION)
    assert not worktree.path.exists()
    assert git(root, "branch", "--list") == "* main"
    assert not (root / ".git" / "worktrees").exists()
    assert content(root, f"refs/endstop/{SESSION}/discarded", "half.py") == "h\n"
    assert last == git(root, "rev-parse", f"refs/endstop/{SESSION}/discarded")
    assert await standing_of(worktree.repository, SESSION) == "discarded"
    assert [one.round for one in await rounds_of(worktree.repository, SESSION)] == [1]
    assert git(root, "fsck", "--no-dangling") == ""


async def test_discarding_twice_is_the_same_as_once(root: Path) -> None:
    worktree = await worked(root)
    last = await discard(worktree.repository, SESSION)
    assert await discard(worktree.repository, SESSION) == last


async def test_a_discard_that_was_killed_is_finished(root: Path) -> None:
    worktree = await worked(root)
    git(root, "update-ref", f"refs/endstop/{SESSION}/discarded", BRANCH)
    await discard(worktree.repository, SESSION)
    assert not worktree.path.exists()
    assert git(root, "branch", "--list") == "* main"


async def test_what_cannot_be_saved_does_not_hinder_discarding(root: Path) -> None:
    worktree = await worked(root)
    (root / ".git" / "worktrees" / SESSION / "index").write_text("broken")
    await discard(worktree.repository, SESSION)
    assert not worktree.path.exists()


async def test_discarding_leaves_other_peoples_folders_alone(root: Path) -> None:
    worktree = await worked(root)
    git(root, "worktree", "remove", "--force", str(worktree.path))
    write(worktree.path, {"somebody": "else's\n"})
    await discard(worktree.repository, SESSION)
    assert (worktree.path / "somebody").exists()


# a session that is over, or never was


@pytest.mark.parametrize("what", [accept, discard])
async def test_nothing_is_done_with_a_session_that_was_accepted(
    root: Path, what: Callable[[Repository, str], Awaitable[object]]
) -> None:
    worktree = await worked(root)
    await accept(worktree.repository, SESSION)
    with pytest.raises(RepositoryError, match="was accepted already"):
        await what(worktree.repository, SESSION)


async def test_a_discarded_session_cannot_be_accepted_and_says_where_its_work_is(root: Path) -> None:
    worktree = await worked(root)
    await discard(worktree.repository, SESSION)
    with pytest.raises(RepositoryError, match="was discarded") as caught:
        await accept(worktree.repository, SESSION)
    assert f"git branch NAME refs/endstop/{SESSION}/discarded" in caught.value.to_do
    with pytest.raises(RepositoryError, match="was discarded"):
        await restore_round(worktree.repository, SESSION, 1)


async def test_an_unknown_session_is_told_with_those_there_are(root: Path) -> None:
    with pytest.raises(RepositoryError, match="knows no session nobody") as caught:
        await discard(await open_repository(root), "nobody")
    assert caught.value.allowed == "none is open here"
    worktree = await worked(root)
    with pytest.raises(RepositoryError, match="knows no session nobody") as caught:
        await accept(worktree.repository, "nobody")
    assert caught.value.allowed == SESSION


async def test_a_branch_that_is_not_ours_is_no_session(root: Path) -> None:
    git(root, "branch", BRANCH)
    with pytest.raises(RepositoryError, match="knows no session"):
        await discard(await open_repository(root), SESSION)
    assert git(root, "rev-parse", BRANCH) == git(root, "rev-parse", "main")


# restore


@pytest.mark.guarantee("G8")
async def test_any_round_can_be_restored_and_nothing_is_lost(root: Path) -> None:
    worktree = await worked(root, {"code.py": "first\n", "one.py": "1\n"})
    write(worktree.path, {"code.py": "second\n", "two.py": "2\n"})
    second = await worktree.commit(2, "Two")
    write(worktree.path, {"half.py": "h\n"})
    restored = await restore_round(worktree.repository, SESSION, 1)
    assert await worktree.tip() == restored
    assert sorted(files_at(root, restored)) == ["README", "code.py", "one.py"]
    assert sorted(os.listdir(worktree.path)) == [".git", "README", "code.py", "one.py"]
    assert content(root, f"{restored}~1", "half.py") == "h\n"
    assert git(root, "rev-parse", f"{restored}~2") == second
    assert git(root, "log", "-1", "--format=%s", restored) == "Restore round 1"
    assert await restore_round(worktree.repository, SESSION, 1) == restored
    assert [one.round for one in await rounds_of(worktree.repository, SESSION)] == [1, 2]


async def test_a_round_is_restored_on_the_branch_when_the_worktree_is_gone(root: Path) -> None:
    worktree = await worked(root, {"code.py": "first\n"})
    write(worktree.path, {"code.py": "second\n"})
    await worktree.commit(2, "Two")
    places.remove(worktree.path)
    restored = await restore_round(worktree.repository, SESSION, 1)
    assert await restore_round(worktree.repository, SESSION, 1) == restored
    await worktree.ensure()
    assert (worktree.path / "code.py").read_text() == "first\n"


async def test_a_round_that_never_was_is_told_with_those_there_are(root: Path) -> None:
    worktree = await worktree_in(root)
    with pytest.raises(RepositoryError, match="has no round 1") as caught:
        await restore_round(worktree.repository, SESSION, 1)
    assert caught.value.allowed == "none yet"
    await worktree.commit(1, "One")
    with pytest.raises(RepositoryError, match="has no round 5") as caught:
        await restore_round(worktree.repository, SESSION, 5)
    assert caught.value.allowed == "1"


async def test_a_session_that_holds_the_repository_too_long_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "WAIT_S", 0.1)
    async with places.alone(root / ".git"):
        with pytest.raises(RepositoryError, match="Another session has been making its worktree"):
            await worktree_in(root)
    await asyncio.wait_for(worktree_in(root), 10)
