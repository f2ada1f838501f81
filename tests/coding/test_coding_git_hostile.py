"""An agent does what it likes in its worktree: git does nothing for it, and its work is committed anyway."""

from __future__ import annotations

import os
import socket
import stat
import time
from pathlib import Path

import pytest
from git_words import (
    SESSION,
    committed,
    content,
    files_at,
    git,
    made_repository,
    worktree_in,
    write,
)

from endstop.coding import places, staging
from endstop.coding.keeping import accept, discard, restore_round
from endstop.coding.repository import concerns, rounds_of
from endstop.coding.worktree import DiffStat, Worktree
from endstop.errors import RepositoryError

pytestmark = pytest.mark.usefixtures("git_home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_repository(tmp_path / "repo")


@pytest.fixture
def trap(tmp_path: Path) -> str:
    """A command that leaves a trace when it is run."""
    return f"touch '{tmp_path / 'sprung'}'; cat"


def is_sprung(tmp_path: Path) -> bool:
    return (tmp_path / "sprung").exists()


async def everything_done(worktree: Worktree) -> str:
    """Each thing a session does with git. The commit of its first round."""
    first = await worktree.commit(1, "One")
    await worktree.stat()
    await worktree.diff()
    snapshot = await worktree.snapshot()
    write(worktree.path, {"more": "m\n"})
    await worktree.restore(snapshot)
    await worktree.checkpoint("Check")
    await worktree.ensure()
    await rounds_of(worktree.repository, SESSION)
    await restore_round(worktree.repository, SESSION, 1)
    await accept(worktree.repository, SESSION, how="patch")
    return first


# what an agent may plant


@pytest.mark.thorough
@pytest.mark.guarantee("G8")
@pytest.mark.parametrize("kind", ["a file to elsewhere", "a repository", "a link", "nothing"])
async def test_a_rewritten_git_file_leads_nowhere(root: Path, tmp_path: Path, trap: str, kind: str) -> None:
    elsewhere = made_repository(tmp_path / "elsewhere")
    git(elsewhere, "config", "core.fsmonitor", trap)
    worktree = await worktree_in(root)
    pointer = worktree.path / ".git"
    pointer.unlink()
    match kind:
        case "a file to elsewhere":
            pointer.write_text(f"gitdir: {elsewhere / '.git'}\n")
        case "a repository":
            git(worktree.path, "init", "-q")
            git(worktree.path, "config", "core.fsmonitor", trap)
        case "a link":
            pointer.symlink_to(elsewhere / ".git")
        case _:
            pass
    write(worktree.path, {"code.py": "a = 2\n"})
    commit = await everything_done(worktree)
    assert content(root, commit, "code.py") == "a = 2\n"
    assert git(elsewhere, "rev-list", "--all", "--count") == "1"
    assert not is_sprung(tmp_path)
    assert git(worktree.path, "rev-parse", "--show-toplevel") == str(worktree.path)  # it was put right


@pytest.mark.thorough
async def test_hooks_do_not_run(root: Path, tmp_path: Path, trap: str) -> None:
    hooks = root / ".git" / "hooks"
    write(worktree_hooks := root / ".husky", {"post-checkout": ""})
    for folder in (hooks, worktree_hooks):
        for name in ("post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction",
                     "post-index-change", "post-merge", "pre-merge-commit"):  # fmt: skip
            (folder / name).write_text(f"#!/bin/sh\n{trap} </dev/null\n")
            (folder / name).chmod(0o755)
    committed(root, "hooks")
    git(root, "config", "core.hooksPath", ".husky")
    (tmp_path / "sprung").unlink(missing_ok=True)
    worktree = await worktree_in(root)
    write(worktree.path, {"code.py": "a = 2\n"})
    await everything_done(worktree)
    await accept(worktree.repository, SESSION)
    assert not is_sprung(tmp_path)


async def test_filters_do_not_run(root: Path, tmp_path: Path, trap: str) -> None:
    for key in ("clean", "smudge", "process"):
        git(root, "config", f"filter.trap.{key}", trap)
    git(root, "config", "filter.trap.required", "true")
    git(root, "config", "diff.trap.textconv", trap)
    git(root, "config", "diff.trap.command", trap)
    git(root, "config", "diff.external", trap)
    (root / ".git" / "info" / "attributes").write_text("* filter=trap diff=trap\n")
    worktree = await worktree_in(root)
    write(worktree.path, {".gitattributes": "* filter=trap diff=trap\n", "code.py": "a = 2\n"})
    commit = await everything_done(worktree)
    assert content(root, commit, "code.py") == "a = 2\n"
    assert not is_sprung(tmp_path)


async def test_attributes_do_not_hide_a_change(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {".gitattributes": "* -diff\n", "code.py": "a = 2\n"})
    assert (await worktree.stat()).added == 2
    assert "+a = 2" in await worktree.diff()


@pytest.mark.thorough
async def test_a_file_with_its_old_size_and_time_is_seen_all_the_same(root: Path) -> None:
    git(root, "config", "core.trustctime", "false")
    worktree = await worktree_in(root)
    file = worktree.path / "code.py"
    os.utime(file, (1_000_000_000, 1_000_000_000))
    await worktree.commit(1, "One")
    time.sleep(1.1)  # git looks at whole seconds
    file.write_text("a = 9\n")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    assert content(root, await worktree.commit(2, "Two"), "code.py") == "a = 9\n"


@pytest.mark.parametrize("attribute", ["working-tree-encoding=UTF-16", "working-tree-encoding=nonsense"])
async def test_an_encoding_that_does_not_fit_does_not_keep_work_from_being_saved(
    root: Path, attribute: str
) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {".gitattributes": f"* {attribute}\n", "code.py": "a = 2\n", "odd": "x", "run": "r"})
    (worktree.path / "run").chmod(0o755)
    (worktree.path / "link").symlink_to("code.py")
    (worktree.path / "README").unlink()
    commit = await worktree.commit(1, "One")
    assert files_at(root, commit) == {
        ".gitattributes": "100644",
        "code.py": "100644",
        "link": "120000",
        "odd": "100644",
        "run": "100755",
    }
    assert content(root, commit, "code.py") == "a = 2\n"
    assert "Left out" not in git(root, "log", "-1", "--format=%B", commit)


# names and kinds of files


NAMES = [
    "--help",
    "-rf",
    "a b",
    "new\nline",
    "tab\there",
    "ünï → 日本",
    '"quoted"',
    ":(top)x",
    "*",
    "back\\slash",
    " lead",
    "trail ",
    "HEAD",
]


async def test_files_of_any_name_are_committed_and_restored(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {name: f"{name!r}\n" for name in NAMES})
    not_utf8 = os.fsdecode(b"latin-\xe9")
    write(worktree.path, {not_utf8: "l\n"})
    commit = await everything_done(worktree)
    assert set(files_at(root, commit)) == {*NAMES, not_utf8, "README", "code.py"}
    assert (await worktree.stat()).files == len(NAMES) + 1
    await worktree.restore(worktree.base)
    assert sorted(os.listdir(worktree.path)) == [".git", "README", "code.py"]
    await worktree.restore(commit)
    assert (worktree.path / "new\nline").read_text() == "'new\\nline'\n"


async def test_a_link_out_of_the_tree_is_kept_as_a_link(root: Path, tmp_path: Path) -> None:
    write(tmp_path, {"secret/word": "hidden"})
    worktree = await worktree_in(root)
    (worktree.path / "out").symlink_to(tmp_path / "secret")
    (worktree.path / "file").symlink_to(tmp_path / "secret" / "word")
    commit = await worktree.commit(1, "One")
    assert {name: mode for name, mode in files_at(root, commit).items() if mode == "120000"} == {
        "out": "120000",
        "file": "120000",
    }
    assert content(root, commit, "file") == str(tmp_path / "secret" / "word")
    await worktree.restore(worktree.base)
    assert (tmp_path / "secret" / "word").read_text() == "hidden"


async def test_a_folder_turned_into_a_link_is_not_written_through(tmp_path: Path) -> None:
    root = made_repository(tmp_path / "repo", {"src/a.py": "a\n"})
    (tmp_path / "outside").mkdir()
    worktree = await worktree_in(root)
    (worktree.path / "src" / "a.py").unlink()
    (worktree.path / "src").rmdir()
    (worktree.path / "src").symlink_to(tmp_path / "outside")
    await worktree.restore(worktree.base)
    assert os.listdir(tmp_path / "outside") == []
    assert (worktree.path / "src" / "a.py").read_text() == "a\n"


async def test_the_right_to_execute_is_kept(root: Path) -> None:
    worktree = await worktree_in(root)
    (worktree.path / "code.py").chmod(0o755)
    assert files_at(root, await worktree.commit(1, "One"))["code.py"] == "100755"
    await worktree.restore(worktree.base)
    assert not (worktree.path / "code.py").stat().st_mode & stat.S_IXUSR


@pytest.mark.thorough
async def test_a_huge_file_is_committed_and_its_diff_is_short(root: Path) -> None:
    worktree = await worktree_in(root)
    with (worktree.path / "huge").open("wb") as file:
        file.truncate(60_000_000)
    assert await worktree.stat() == DiffStat(files=1)
    assert len(await worktree.diff()) < 1_000
    commit = await worktree.commit(1, "One")
    assert git(root, "cat-file", "-s", f"{commit}:huge") == "60000000"


async def test_what_is_neither_file_nor_link_is_not_committed(root: Path) -> None:
    worktree = await worktree_in(root)
    os.mkfifo(worktree.path / "pipe")
    (worktree.path / "code.py").unlink()
    os.mkfifo(worktree.path / "code.py")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(worktree.path / "socket"))  # a whole path may be too long for one
    commit = await worktree.commit(1, "One")
    assert not {"pipe", "socket"} & set(files_at(root, commit))


async def test_what_git_cannot_take_is_named_and_the_rest_is_committed(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"git~1": "bad name", "good": "g\n"})
    commit = await worktree.commit(1, "One")
    assert content(root, commit, "good") == "g\n"
    assert "Left out, as git cannot take it: git~1" in git(root, "log", "-1", "--format=%B", commit)
    assert [one.round for one in await rounds_of(worktree.repository, SESSION)] == [1]
    assert await worktree.commit(1, "One") == commit


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_file_without_the_right_to_read_is_left_out(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"closed": "c", "good": "g\n"})
    (worktree.path / "closed").chmod(0)
    commit = await worktree.commit(1, "One")
    assert set(files_at(root, commit)) == {"README", "code.py", "good"}


# repositories inside


@pytest.mark.thorough
@pytest.mark.parametrize("has_commit", [True, False])
async def test_a_repository_inside_is_committed_as_its_files(root: Path, has_commit: bool) -> None:
    worktree = await worktree_in(root)
    nested = worktree.path / "pkg" / "nested repo"
    write(nested, {"a.py": "a\n", "deep/b.py": "b\n", ".gitignore": "*.log\n", "x.log": "l"})
    git(nested, "init", "-q")
    if has_commit:
        committed(nested, "inside")
    write(nested / "inner", {"c.py": "c\n"})
    git(nested / "inner", "init", "-q")
    first = await worktree.commit(1, "One")
    new = set(files_at(root, first)) - {"README", "code.py"}
    assert new == {f"pkg/nested repo/{name}" for name in (".gitignore", "a.py", "deep/b.py", "inner/c.py")}
    assert "160000" not in files_at(root, first).values()
    write(nested, {"later.py": "l\n"})
    second = await worktree.commit(2, "Two")
    assert "pkg/nested repo/later.py" in files_at(root, second)


@pytest.mark.parametrize("has_commit", [True, False])
async def test_a_file_turned_into_a_repository_is_committed_as_its_files(
    root: Path, has_commit: bool
) -> None:
    worktree = await worktree_in(root)
    (worktree.path / "README").unlink()
    write(worktree.path, {"README/inside": "i\n"})
    git(worktree.path / "README", "init", "-q")
    if has_commit:
        committed(worktree.path / "README", "inside")
    assert files_at(root, await worktree.commit(1, "One")) == {"README/inside": "100644", "code.py": "100644"}


async def test_repositories_too_deep_inside_each_other_are_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "_MOST_NESTING", 2)
    worktree = await worktree_in(root)
    for folder in ("a", "a/b", "a/b/c"):
        write(worktree.path / folder, {"file": folder})
        git(worktree.path / folder, "init", "-q")
    write(worktree.path, {"git~1": "bad name"})
    commit = await worktree.commit(1, "One")
    assert {"a/file", "a/b/c/file"} & set(files_at(root, commit)) == {"a/file"}
    assert "160000" not in files_at(root, commit).values()
    assert "Left out, as git cannot take it: a/b/" in git(root, "log", "-1", "--format=%B", commit)


@pytest.mark.thorough
async def test_submodules_stay_as_they_were_and_nothing_in_them_runs(
    root: Path, tmp_path: Path, trap: str
) -> None:
    git(root, "submodule", "--quiet", "add", str(made_repository(tmp_path / "lib")), "lib")
    committed(root, "with a submodule")
    worktree = await worktree_in(root)
    assert os.listdir(worktree.path / "lib") == []
    write(worktree.path, {"lib/planted.py": "p\n", "code.py": "a = 2\n"})
    git(worktree.path / "lib", "init", "-q")
    committed(worktree.path / "lib", "planted")
    git(worktree.path / "lib", "config", "core.fsmonitor", trap)
    git(worktree.path / "lib", "config", "core.hooksPath", "/dev/null")
    write(worktree.path, {"lib/planted.py": "changed\n"})
    before = git(root, "ls-tree", "HEAD", "lib")
    commit = await everything_done(worktree)
    assert git(root, "ls-tree", commit, "lib") == before
    assert await worktree.stat() == DiffStat(files=1, added=1, removed=1)
    assert any("lib" in one for one in await concerns(worktree.repository))
    assert not is_sprung(tmp_path)


# being removed


async def test_folders_that_forbid_it_are_removed_too(root: Path) -> None:
    worktree = await worktree_in(root)
    write(worktree.path, {"closed/deep/file": "f\n"})
    for folder in ("closed/deep", "closed"):
        (worktree.path / folder).chmod(0o500)
    await discard(worktree.repository, SESSION)
    assert not worktree.path.exists()


def test_folders_are_given_the_rights_that_removing_needs_and_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"top/closed/file": "f", "outside/file": "f"})
    (tmp_path / "top" / "closed" / "link").symlink_to(tmp_path / "outside")
    for folder in ("outside", "top/closed", "top"):
        (tmp_path / folder).chmod(0o400)
    places.remove(tmp_path / "top")
    assert not (tmp_path / "top").exists()
    assert stat.S_IMODE((tmp_path / "outside").stat().st_mode) == 0o400
    (tmp_path / "outside").chmod(0o700)
    assert (tmp_path / "outside" / "file").read_text() == "f"


async def test_a_worktree_swapped_for_a_link_is_refused(root: Path, tmp_path: Path) -> None:
    worktree = await worktree_in(root)
    worktree.path.rename(tmp_path / "away")
    worktree.path.symlink_to(tmp_path / "away")
    with pytest.raises(RepositoryError, match="is not there"):
        await worktree.commit(1, "One")
    with pytest.raises(RepositoryError, match="not this session's worktree"):
        await worktree.ensure()
