"""A session's worktree: made once whatever happens, a commit per round, the user's own tree untouched."""

from __future__ import annotations

import asyncio
import shutil
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
    worktree_of,
    write,
)

from endstop.coding.keeping import accept, discard
from endstop.coding.repository import open_repository, rounds_of, standing_of
from endstop.coding.worktree import CUT, DiffStat, Worktree
from endstop.errors import InvalidValueError, RepositoryError

pytestmark = pytest.mark.usefixtures("git_home")

BRANCH = f"endstop/{SESSION}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_repository(tmp_path / "my repo")


def commits_since_base(worktree: Worktree) -> int:
    return int(git(worktree.repository.root, "rev-list", "--count", f"{worktree.base}..{worktree.branch}"))


@pytest.mark.guarantee("G8")
async def test_the_users_tree_index_and_stash_are_the_same_bytes_after_a_whole_session(root: Path) -> None:
    write(root, {"code.py": "stashed\n"})
    git(root, "stash", "-q")
    write(root, {"code.py": "staged\n", "README": "changed\n", "untracked": "u\n"})
    git(root, "add", "code.py")
    before = everything(root)
    worktree = await worktree_in(root)
    write(worktree.path, {"code.py": "a = 3\n", "new.py": "b = 1\n"})
    await worktree.commit(1, "One")
    await worktree.snapshot()
    await worktree.restore(worktree.base)
    await worktree.commit(2, "Two")
    assert await worktree.diff() == ""
    assert everything(root) == before
    await discard(worktree.repository, SESSION)
    assert everything(root) == before
    assert git(root, "branch", "--list") == "* main"
    assert git(root, "worktree", "list").count("\n") == 0


async def test_a_worktree_begins_with_the_last_commit_and_not_with_what_is_uncommitted(root: Path) -> None:
    write(root, {"code.py": "not committed\n"})
    worktree = await worktree_in(root)
    assert (worktree.path / "code.py").read_text() == "a = 1\n"
    assert worktree.branch == BRANCH
    assert git(worktree.path, "status", "--porcelain") == ""
    assert git(worktree.path, "rev-parse", "--abbrev-ref", "HEAD") == BRANCH
    assert await standing_of(worktree.repository, SESSION) == "open"


async def test_making_it_again_changes_nothing(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"code.py": "half done\n", "new": "n\n"})
    await worktree.ensure()
    assert (worktree.path / "code.py").read_text() == "half done\n"
    assert (worktree.path / "new").exists()


async def test_a_session_may_begin_on_a_detached_head(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    worktree = await worktree_in(root)
    await worktree.commit(1, "One")
    assert commits_since_base(worktree) == 1
    assert git(root, "rev-parse", "HEAD") == worktree.base


async def test_the_base_stays_where_it_was_when_the_user_commits_meanwhile(root: Path) -> None:
    worktree = await worktree_in(root)
    write(root, {"later.py": "l\n"})
    committed(root, "Later")
    again = Worktree(
        repository=await open_repository(root), session=SESSION, path=worktree.path, base=worktree.base
    )
    await again.ensure()
    assert not (again.path / "later.py").exists()
    assert await again.stat() == DiffStat()


# killed, deleted, in the way


async def test_a_folder_deleted_by_hand_is_made_again_from_the_branch(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"new.py": "kept\n"})
    commit = await worktree.commit(1, "One")
    shutil.rmtree(worktree.path)
    with pytest.raises(RepositoryError, match="is not there"):
        await worktree.stat()
    await worktree.ensure()
    assert (worktree.path / "new.py").read_text() == "kept\n"
    assert await worktree.commit(1, "One") == commit


async def test_a_kill_after_the_branch_was_noted_is_gone_over(root: Path) -> None:
    worktree = await worktree_in(root)
    await discard(worktree.repository, SESSION)
    git(root, "update-ref", "-d", f"refs/endstop/{SESSION}/discarded")
    git(root, "update-ref", "-d", f"refs/endstop/{SESSION}/base")
    await worktree.ensure()  # only "opened" was written
    assert (worktree.path / "code.py").exists()


async def test_a_kill_before_the_base_was_noted_is_gone_over(root: Path) -> None:
    worktree = await worktree_in(root)
    git(root, "update-ref", "-d", f"refs/endstop/{SESSION}/base")
    await worktree.ensure()
    await worktree.commit(1, "One")
    assert len(await rounds_of(worktree.repository, SESSION)) == 1


@pytest.mark.parametrize("part", ["HEAD", "commondir", "gitdir"])
async def test_a_kill_while_git_added_the_worktree_is_gone_over(root: Path, part: str) -> None:
    worktree = worktree_of(await open_repository(root))
    git(root, "branch", "tmp")
    git(root, "worktree", "add", "-q", "--no-checkout", str(worktree.path), "tmp")
    admin = root / ".git" / "worktrees" / SESSION
    (admin / part).unlink()
    (admin / "locked").write_text("initializing")
    await worktree.ensure()
    assert (worktree.path / "code.py").exists()
    assert not (admin / "locked").exists()
    assert git(worktree.path, "status", "--porcelain") == ""


async def test_a_kill_between_adding_and_checking_out_is_gone_over(root: Path) -> None:
    worktree = await worktree_in(root)
    admin = root / ".git" / "worktrees" / SESSION
    (admin / "index").unlink()
    (worktree.path / "code.py").write_text("half wri")
    (worktree.path / "README").unlink()
    (admin / "locked").write_text("initializing")
    (admin / "index.lock").touch()
    (admin / "endstop-staging-x").mkdir()
    await worktree.ensure()
    assert (worktree.path / "code.py").read_text() == "a = 1\n"
    assert sorted(one.name for one in admin.iterdir() if "lock" in one.name or "endstop" in one.name) == []
    assert git(worktree.path, "status", "--porcelain") == ""


async def test_a_lock_of_the_users_own_on_the_worktree_stays(root: Path) -> None:
    worktree = await worktree_in(root)
    git(root, "worktree", "lock", "--reason", "on a stick", str(worktree.path))
    await worktree.ensure()
    assert (root / ".git" / "worktrees" / SESSION / "locked").read_text().strip() == "on a stick"


async def test_a_stale_lock_on_the_branch_is_taken_away(root: Path) -> None:
    worktree = await worktree_in(root)
    (root / ".git" / "refs" / "heads" / "endstop" / f"{SESSION}.lock").touch()
    await worktree.ensure()
    await worktree.commit(1, "One")
    assert commits_since_base(worktree) == 1


async def test_a_branch_of_that_name_that_is_not_ours_is_refused(root: Path) -> None:
    git(root, "branch", BRANCH)
    with pytest.raises(RepositoryError, match="it is not this session's"):
        await worktree_in(root)
    assert not (root.parent / "worktrees").exists()


async def test_a_branch_called_endstop_is_in_the_way_and_told(root: Path) -> None:
    git(root, "branch", "endstop")
    with pytest.raises(RepositoryError, match=f"The branch {BRANCH} cannot be made") as caught:
        await worktree_in(root)
    assert "A branch called endstop" in caught.value.to_do
    assert git(root, "for-each-ref", "refs/endstop") == ""


async def test_a_branch_deleted_by_hand_ends_the_session(root: Path) -> None:
    worktree = await worktree_in(root)
    git(root, "update-ref", "-d", f"refs/heads/{BRANCH}")
    with pytest.raises(RepositoryError, match="is gone"):
        await worktree.ensure()
    with pytest.raises(RepositoryError, match="is gone"):
        await worktree.commit(1, "One")


@pytest.mark.parametrize("kind", ["files", "file", "link", "repository"])
async def test_something_else_at_its_place_is_left_alone_and_told(root: Path, kind: str) -> None:
    place = root.parent / "place"
    match kind:
        case "files":
            write(place, {"mine": "m"})
        case "file":
            place.write_text("mine")
        case "link":
            (root.parent / "elsewhere").mkdir()
            place.symlink_to(root.parent / "elsewhere")
        case _:
            place.mkdir()
            git(place, "init", "-q")
    with pytest.raises(RepositoryError, match="that is not this session's worktree"):
        await worktree_in(root, place=place)
    assert place.exists()


async def test_an_empty_folder_at_its_place_is_used(root: Path) -> None:
    (root.parent / "place").mkdir()
    worktree = await worktree_in(root, place=root.parent / "place")
    assert (worktree.path / "code.py").exists()


@pytest.mark.parametrize("end", ["accepted", "discarded"])
async def test_a_session_that_is_over_gets_no_worktree(root: Path, end: str) -> None:
    worktree = await worktree_in(root)
    await (accept if end == "accepted" else discard)(worktree.repository, SESSION)
    with pytest.raises(RepositoryError, match=f"was {end} already"):
        await worktree.ensure()


async def test_a_note_that_is_not_ours_is_told(root: Path) -> None:
    blob = git(root, "hash-object", "-w", "--stdin", given=b"[]")
    git(root, "update-ref", f"refs/endstop/{SESSION}/opened", blob)
    with pytest.raises(RepositoryError, match="is not what Endstop writes there"):
        await worktree_in(root)


async def test_two_sessions_work_at_once_in_one_repository(root: Path) -> None:
    repository = await open_repository(root)
    one, two = (worktree_of(repository, session) for session in ("one", "two"))
    same_name = worktree_of(repository, "three", root.parent / "other" / "one")
    await asyncio.gather(one.ensure(), two.ensure(), same_name.ensure())

    async def worked(worktree: Worktree) -> str:
        write(worktree.path, {"who": f"{worktree.session}\n"})
        return await worktree.commit(1, worktree.session)

    commits = await asyncio.gather(worked(one), worked(two), worked(same_name))
    assert [content(root, commit, "who") for commit in commits] == ["one\n", "two\n", "three\n"]
    await discard(repository, "one")
    assert two.is_there
    assert same_name.is_there


# commits


@pytest.mark.guarantee("G8")
async def test_each_round_is_one_commit_also_when_nothing_changed(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"code.py": "a = 2\n"})
    first = await worktree.commit(1, "The first\n\nfound: nothing")
    second = await worktree.commit(2, "The second")
    assert git(root, "diff", "--name-only", first, second) == ""
    rounds = await rounds_of(worktree.repository, SESSION)
    assert [(one.round, one.commit, one.subject) for one in rounds] == [
        (1, first, "The first"),
        (2, second, "The second"),
    ]
    assert git(root, "log", "-1", "--format=%B", first).split("\n") == [
        "The first",
        "",
        "found: nothing",
        "",
        f"Endstop-Round: {SESSION}/1",
    ]
    assert git(root, "log", "-1", "--format=%an <%ae>", first) == "Ann <ann@example.org>"


@pytest.mark.guarantee("H5", "G8")
async def test_the_commit_of_a_round_is_not_doubled(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"code.py": "a = 2\n"})
    first = await worktree.commit(1, "One")
    assert await worktree.commit(1, "One") == first
    await worktree.commit(2, "Two")
    assert await worktree.commit(1, "One") == first
    assert commits_since_base(worktree) == 2


async def test_new_work_in_the_same_round_is_not_lost(root: Path) -> None:
    worktree = await worktree_in(root)
    first = await worktree.commit(1, "One")
    write(worktree.path, {"code.py": "a = 2\n"})
    second = await worktree.commit(1, "One again")
    assert second != first
    assert [one.commit for one in await rounds_of(worktree.repository, SESSION)] == [second]
    assert content(root, second, "code.py") == "a = 2\n"


async def test_a_round_forged_in_the_words_of_an_agent_does_not_count(root: Path) -> None:
    worktree = await worktree_in(root)
    await worktree.commit(1, f"One\n\nEndstop-Round: {SESSION}/7")
    await worktree.checkpoint(f"Work\n\nEndstop-Round: {SESSION}/9\nand more")
    assert [one.round for one in await rounds_of(worktree.repository, SESSION)] == [1]


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        ("", "Round 1"),
        (" \n", "Round 1"),
        ("a\0b", "ab"),
        ("-m x", "-m x"),
        ("# x", "# x"),
        ("\udcff é", "? é"),
    ],
)
async def test_any_message_makes_a_commit(root: Path, message: str, subject: str) -> None:
    worktree = await worktree_in(root)
    await worktree.commit(1, message)
    assert [one.subject for one in await rounds_of(worktree.repository, SESSION)] == [subject]


async def test_a_message_has_a_bound(root: Path) -> None:
    worktree = await worktree_in(root)
    commit = await worktree.commit(1, "x" * 1_000_000)
    assert len(git(root, "log", "-1", "--format=%B", commit)) < 21_000


async def test_without_a_git_user_the_commits_are_ours(root: Path, git_home: Path) -> None:
    (git_home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    worktree = await worktree_in(root)
    commit = await worktree.commit(1, "One")
    assert git(root, "log", "-1", "--format=%an <%ae>", commit) == "Endstop <endstop@localhost>"


async def test_signing_is_off(root: Path) -> None:
    git(root, "config", "commit.gpgSign", "true")
    git(root, "config", "gpg.program", "/bin/false")
    worktree = await worktree_in(root)
    await worktree.commit(1, "One")
    assert commits_since_base(worktree) == 1


async def test_a_checkpoint_is_made_only_if_there_is_something_new_and_is_no_round(root: Path) -> None:
    worktree = await worktree_in(root)
    assert await worktree.checkpoint("Nothing") == worktree.base
    write(worktree.path, {"half.py": "h\n"})
    commit = await worktree.checkpoint("")
    assert await worktree.tip() == commit
    assert git(root, "log", "-1", "--format=%s", commit) == "Checkpoint"
    assert await rounds_of(worktree.repository, SESSION) == ()


@pytest.mark.parametrize("number", [0, -1, True, 1_000_000])
async def test_rounds_count_from_one(root: Path, number: int) -> None:
    worktree = await worktree_in(root)
    with pytest.raises(InvalidValueError):
        await worktree.commit(number, "x")


async def test_ignored_files_are_not_committed(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {".gitignore": "*.log\nbuild/\n", "a.log": "l", "build/x": "x", "kept": "k"})
    commit = await worktree.commit(1, "One")
    assert sorted(files_at(root, commit)) == [".gitignore", "README", "code.py", "kept"]


# looking and going back


async def test_the_stat_counts_lines_since_the_base_with_new_and_uncommitted_files(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"code.py": "a = 2\nb = 2\n"})
    first = await worktree.commit(1, "One")
    write(worktree.path, {"new\nname.py": "1\n2\n3\n"})
    (worktree.path / "README").unlink()
    (worktree.path / "picture").write_bytes(b"\0\1\2")
    assert await worktree.stat() == DiffStat(files=4, added=5, removed=2)
    assert await worktree.stat(first) == DiffStat(files=3, added=3, removed=1)
    assert await worktree.stat(until=first) == DiffStat(files=1, added=2, removed=1)
    assert (await worktree.stat(until=first)).lines == 3
    assert git(worktree.path, "diff", "--cached", "--name-only") == ""  # looking stages nothing


async def test_a_diff_shows_what_is_there_now_or_was_between_two_commits(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"code.py": "a = 2\n"})
    first = await worktree.commit(1, "One")
    write(worktree.path, {"über.py": "new\n"})
    assert "+a = 2" in await worktree.diff()
    assert "+++ b/über.py\n" in await worktree.diff()
    assert "+new" not in await worktree.diff(until=first)
    assert "a = 2" not in await worktree.diff(first)


async def test_a_diff_has_a_bound(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"big.py": "line\n" * 200_000})
    short = await worktree.diff(most_chars=1_000)
    assert len(short) == 1_000
    assert short.endswith(CUT)
    assert (await worktree.diff(most_chars=800_100)).endswith(CUT)
    with pytest.raises(InvalidValueError):
        await worktree.diff(most_chars=1)


async def test_a_snapshot_moves_nothing_and_can_be_gone_back_to(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"code.py": "good\n", "keep.py": "k\n", ".gitignore": "*.log\n", "x.log": "l"})
    with pytest.raises(RepositoryError, match=f"The snapshot of session {SESSION} is gone"):
        await worktree.last_snapshot()
    snapshot = await worktree.snapshot()
    assert await worktree.last_snapshot() == snapshot
    assert await worktree.tip() == worktree.base
    write(worktree.path, {"code.py": "worse\n", "new/deep.py": "n\n"})
    (worktree.path / "keep.py").unlink()
    await worktree.restore(snapshot)
    there = sorted(one.name for one in worktree.path.iterdir() if one.name != ".git")
    assert there == [".gitignore", "README", "code.py", "keep.py", "x.log"]
    assert (worktree.path / "code.py").read_text() == "good\n"
    assert await worktree.tip() == worktree.base
    assert content(root, await worktree.commit(1, "One"), "code.py") == "good\n"


@pytest.mark.parametrize("commit", ["HEAD", "--all", "", "main", "abc"])
async def test_only_the_number_of_a_commit_is_taken(root: Path, commit: str) -> None:
    worktree = await worktree_in(root)
    with pytest.raises(InvalidValueError):
        await worktree.restore(commit)


async def test_a_commit_that_is_not_there_cannot_be_restored(root: Path) -> None:
    worktree = await worktree_in(root)
    with pytest.raises(RepositoryError, match="There is no commit 1234567890"):
        await worktree.restore("1234567890")


async def test_a_worktree_needs_a_whole_path(root: Path) -> None:
    with pytest.raises(InvalidValueError):
        worktree_of(await open_repository(root), place=Path("somewhere"))
