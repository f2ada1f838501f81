"""The user's repository: opened with clear words and looked at without touching it, by a git of our own."""

from __future__ import annotations

import asyncio
import gc
import os
import stat
from pathlib import Path

import pytest
from git_words import SESSION, committed, everything, git, made_repository, worktree_in, write

from endstop.coding import git as git_module
from endstop.coding.git import Git
from endstop.coding.keeping import discard
from endstop.coding.repository import concerns, left_over, names, open_repository, rounds_of, standing_of
from endstop.errors import InvalidValueError, RepositoryError

pytestmark = pytest.mark.usefixtures("git_home")


def slow_git(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Another program under the name of git."""
    program = folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


async def test_a_repository_is_found_from_a_folder_inside_it(tmp_path: Path) -> None:
    root = made_repository(tmp_path / "a b")
    (root / "deep" / "er").mkdir(parents=True)
    repository = await open_repository(root / "deep" / "er")
    assert (repository.root, repository.common_dir, repository.git_dir, repository.branch) == (
        root,
        root / ".git",
        root / ".git",
        "main",
    )
    assert repository.head == git(root, "rev-parse", "HEAD")


async def test_a_worktree_of_the_user_is_a_repository_too(tmp_path: Path) -> None:
    root = made_repository(tmp_path / "repo")
    git(root, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    repository = await open_repository(tmp_path / "other")
    assert (repository.root, repository.common_dir, repository.branch) == (
        tmp_path / "other",
        root / ".git",
        "other",
    )
    assert repository.git_dir == root / ".git" / "worktrees" / "other"


async def test_a_detached_head_is_no_branch(tmp_path: Path) -> None:
    root = made_repository(tmp_path)
    git(root, "checkout", "-q", "--detach")
    repository = await open_repository(root)
    assert repository.branch is None
    assert any("detached HEAD" in one for one in await concerns(repository))


async def test_the_variables_of_the_caller_do_not_lead_git_astray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made_repository(tmp_path / "repo")
    other = made_repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    assert (await open_repository(root)).root == root


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nowhere", "does not exist"),
        ("file", "is a file, not a folder"),
        ("plain", "is not in a git repository"),
        ("bare", "is a bare repository"),
        ("repo/.git", "is inside a git folder"),
        ("fresh", "has no commit yet"),
        ("broken", "git cannot use"),
    ],
)
async def test_what_cannot_be_used_is_refused_in_clear_words(tmp_path: Path, given: str, said: str) -> None:
    (tmp_path / "file").touch()
    for folder in ("plain", "bare", "fresh", "broken"):
        (tmp_path / folder).mkdir()
    made_repository(tmp_path / "repo")
    git(tmp_path / "bare", "init", "-q", "--bare")
    git(tmp_path / "fresh", "init", "-q")
    (tmp_path / "broken" / ".git").write_text("nonsense\n")
    with pytest.raises(RepositoryError, match=said):
        await open_repository(tmp_path / given)


async def test_a_missing_git_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made_repository(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(RepositoryError, match="git is not installed") as caught:
        await open_repository(root)
    assert caught.value.to_do.startswith("Install git")


async def test_a_clean_repository_gives_no_concern(tmp_path: Path) -> None:
    assert await concerns(await open_repository(made_repository(tmp_path))) == ()


async def test_a_shallow_clone_can_be_worked_in(tmp_path: Path) -> None:
    root = made_repository(tmp_path / "repo")
    committed(root, "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{root}", "clone")
    worktree = await worktree_in(tmp_path / "clone")
    write(worktree.path, {"new": "n\n"})
    await worktree.commit(1, "One")
    assert [one.subject for one in await rounds_of(worktree.repository, SESSION)] == ["One"]
    assert (await worktree.stat()).files == 1


async def test_uncommitted_changes_are_told_and_left_as_they_are(tmp_path: Path) -> None:
    root = made_repository(tmp_path)
    write(root, {"code.py": "a = 2\n", "new file": "x"})
    os.utime(root / "README", (1, 1))  # so that git would like to write its index anew
    before = everything(root)
    (said,) = await concerns(await open_repository(root))
    assert said.startswith("2 files have changes that no commit holds")
    assert "leaves it as it is" in said
    assert everything(root) == before


async def test_one_uncommitted_change_is_one(tmp_path: Path) -> None:
    root = made_repository(tmp_path)
    write(root, {"code.py": "a = 2\n"})
    (said,) = await concerns(await open_repository(root))
    assert said.startswith("1 file has a change ")


async def test_submodules_are_told(tmp_path: Path) -> None:
    root = made_repository(tmp_path / "repo")
    git(root, "submodule", "--quiet", "add", str(made_repository(tmp_path / "lib")), "libs/lib")
    committed(root, "with a submodule")
    (said,) = await concerns(await open_repository(root))
    assert "submodules (libs/lib)" in said


async def test_files_behind_a_filter_are_told(tmp_path: Path) -> None:
    root = made_repository(tmp_path, {".gitattributes": "*.bin filter=lfs\n", "a.bin": "x"})
    git(root, "config", "filter.lfs.clean", "cat")
    git(root, "config", "filter.unused.clean", "cat")
    (said,) = await concerns(await open_repository(root))
    assert "a filter (lfs)" in said


async def test_open_sessions_are_told_until_they_are_discarded(tmp_path: Path) -> None:
    root = made_repository(tmp_path / "repo")
    first = await worktree_in(root, "first")
    await worktree_in(root, "second")
    git(root, "branch", "endstop/somebody-elses")
    git(root, "branch", "endstop/not@ours")
    said = await left_over(first.repository)
    assert said is not None
    assert said.startswith("2 earlier sessions are still open here (first, second)")
    await discard(first.repository, "first")
    said = await left_over(first.repository)
    assert said is not None
    assert said.startswith("1 earlier session is still open here (second)")
    await discard(first.repository, "second")
    assert await left_over(first.repository) is None


def test_many_names_are_few_and_a_number() -> None:
    assert names(["a", "b"]) == "a, b"
    assert names(list("abcdefgh")) == "a, b, c, d, e and 3 more"


async def test_an_unknown_session_has_no_rounds_and_is_gone(tmp_path: Path) -> None:
    repository = await open_repository(made_repository(tmp_path))
    assert await standing_of(repository, "nobody") == "gone"
    assert await rounds_of(repository, "nobody") == ()


@pytest.mark.parametrize("session", ["", "a b", "../x", "-x", "a..b", "x.lock", "x.", "a/b", "x" * 101])
async def test_a_session_that_is_no_name_for_a_branch_is_refused(tmp_path: Path, session: str) -> None:
    repository = await open_repository(made_repository(tmp_path))
    with pytest.raises(InvalidValueError):
        await standing_of(repository, session)


async def test_a_failure_of_git_is_told_in_its_words(tmp_path: Path) -> None:
    root = made_repository(tmp_path)
    with pytest.raises(RepositoryError, match="git cat-file failed: fatal: Not a valid object name nothing"):
        await Git(git_dir=root / ".git").run("cat-file", "blob", "nothing")


async def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="There is no folder"):
        await Git(git_dir=tmp_path / "gone").run("status")


async def test_too_much_output_ends_git_and_is_told(tmp_path: Path) -> None:
    root = made_repository(tmp_path, {"big": "x" * 5_000_000})
    big = Git(git_dir=root / ".git")
    with pytest.raises(RepositoryError, match="more than 1,000 bytes"):
        await big.run("cat-file", "blob", "HEAD:big", most_bytes=1_000)
    cut = await big.run("cat-file", "blob", "HEAD:big", most_bytes=1_000, may_be_cut=True)
    assert (cut.is_cut, len(cut.output)) == (True, 1_000)


async def test_a_git_that_says_too_much_is_heard_out_and_keeps_no_pipe_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_git(tmp_path, monkeypatch, "trap '' TERM\nhead -c 2000000 /dev/zero")
    cut = await Git(git_dir=tmp_path).run("log", most_bytes=1_000, may_be_cut=True)
    assert cut.is_cut
    gc.collect()  # a pipe that was left open would be complained of now


async def test_a_git_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_git(tmp_path, monkeypatch, "trap '' TERM\nsleep 30 & wait\nsleep 30")
    monkeypatch.setattr(git_module, "TIMEOUT_S", 0.2)
    monkeypatch.setattr(git_module, "_END_GRACE_S", 0.2)
    with pytest.raises(RepositoryError, match=r"git status did not end within 0\.2 s"):
        await Git(git_dir=tmp_path).run("status")


async def test_a_cancelled_git_dies_with_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_git(tmp_path, monkeypatch, f"echo $$ > '{tmp_path}/pid'; exec sleep 30")
    running = asyncio.create_task(Git(git_dir=tmp_path).run("status"))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_a_git_that_does_not_listen_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_git(tmp_path, monkeypatch, "exec <&-; echo done")
    done = await Git(git_dir=tmp_path).run("hash-object", given=b"x" * 1_000_000)
    assert done.text == "done"


async def test_a_git_in_the_current_folder_is_not_what_runs_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made_repository(tmp_path / "repo")
    (root / "git").write_text(f"#!/bin/sh\ntouch '{tmp_path}/planted'\n")
    (root / "git").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    await open_repository(root)
    assert not (tmp_path / "planted").exists()


async def test_a_filter_whose_name_cannot_be_switched_off_is_refused(tmp_path: Path) -> None:
    root = made_repository(tmp_path)
    with (root / ".git" / "config").open("a") as config:
        config.write('[filter "a=b"]\n\tclean = cat\n')
    with pytest.raises(RepositoryError, match="cannot be switched off"):
        await Git(git_dir=root / ".git").without_filters()


async def test_the_settings_of_the_users_xdg_folder_count(
    tmp_path: Path, git_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made_repository(tmp_path / "repo")
    (git_home / ".gitconfig").unlink()
    write(tmp_path / "xdg", {"git/config": "[user]\n\tname = Bea\n\temail = bea@example.org\n"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    worktree = await worktree_in(root)
    commit = await worktree.commit(1, "One")
    assert git(root, "log", "-1", "--format=%an <%ae>", commit) == "Bea <bea@example.org>"
