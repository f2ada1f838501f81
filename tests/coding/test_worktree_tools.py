"""The tools of a coding session: they change the worktree and nothing else, and say what to do."""

from __future__ import annotations

import itertools
import json
import os
import stat
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.coding.finding_tests import TestCommand
from endstop.coding.forbidden import Forbidden
from endstop.coding.policy import CommandRules, ForbiddenRules, Permission, Policy, TestsRules
from endstop.coding.worktree_files import MOST_BYTES, WorktreeFiles
from endstop.coding.worktree_tools import worktree_tools
from endstop.errors import ToolArgumentsError, ToolError, ToolRefusedError
from endstop.ports import Tool, ToolContext
from endstop.tools.confinement import Confinement
from endstop.tools.sandbox import installed_bubblewrap

CONTEXT = ToolContext(run_id="run-1", scope="run", turn=0, call="1.1")
PYTEST = TestCommand(words=(sys.executable, "-m", "pytest"), is_pytest=True)
KEY = "-----BEGIN RSA PRIVATE KEY-----"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("one\ntwo\nthree\ntwo\n")
    (folder / ".git").write_text("gitdir: elsewhere")
    return folder


@pytest.fixture
def files(work: Path) -> WorktreeFiles:
    rules = ForbiddenRules()
    return WorktreeFiles(work, Forbidden(paths=rules.paths, contents=rules.contents))


def offered(
    work: Path, policy: Policy | None = None, *, writes: bool = True, command: TestCommand | None = PYTEST
) -> Mapping[str, Tool]:
    tools = worktree_tools(work, Confinement(work), policy or Policy(), command, writes=writes)
    return {tool.spec.name: tool for tool in tools}


async def call(tool: Tool, **arguments: object) -> str:
    return (await tool.call(json.dumps(arguments), CONTEXT)).text


# ── which tools ──────────────────────────────────────────────────────────────────────────────────────────


def test_one_who_looks_can_change_nothing(work: Path) -> None:
    tools = offered(work, writes=False)
    assert set(tools) == {"read_file", "search_code", "list_files"}
    assert not any(tool.traits.changes_something for tool in tools.values())


def test_one_who_writes_has_all_and_they_say_what_they_change(work: Path) -> None:
    tools = offered(work)
    changing = {name for name, tool in tools.items() if tool.traits.changes_something}
    assert set(tools) - changing == {"read_file", "search_code", "list_files", "run_tests"}
    assert changing == {"write_file", "edit_file", "delete_file", "run_command"}
    assert all(tool.spec.description for tool in tools.values())


def test_what_the_policy_denies_is_not_offered(work: Path) -> None:
    policy = Policy(tools={"run_command": Permission.DENY, "read_file": Permission.DENY})
    assert {"run_command", "read_file"}.isdisjoint(offered(work, policy))
    assert "write_file" in offered(work, policy)


def test_without_a_test_command_there_is_no_tool_for_tests(work: Path) -> None:
    assert "run_tests" not in offered(work, command=None)


def test_commands_and_tests_have_the_time_of_the_policy(work: Path) -> None:
    policy = Policy(commands=CommandRules(seconds=7), tests=TestsRules(seconds=11))
    tools = offered(work, policy)
    assert (tools["run_command"].traits.timeout_s, tools["run_tests"].traits.timeout_s) == (12, 16)


async def test_what_was_written_can_be_read_and_found(work: Path) -> None:
    tools = offered(work)
    assert await call(tools["write_file"], path="lib/new.py", content="def fresh():\n    pass\n") == (
        "Wrote lib/new.py: 2 lines."
    )
    assert "def fresh()" in await call(tools["read_file"], path="lib/new.py")
    assert "lib/new.py" in await call(tools["search_code"], query="fresh")
    assert "lib/new.py" in await call(tools["list_files"])


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_replaced_as_a_whole(files: WorktreeFiles, work: Path) -> None:
    assert files.write_file("src/main.py", "only") == "Replaced src/main.py: 1 line."
    assert (work / "src/main.py").read_text() == "only"
    assert files.write_file("src/main.py", "") == "Replaced src/main.py: 0 lines."
    assert os.listdir(work / "src") == ["main.py"]


def test_the_permissions_of_a_file_are_kept(files: WorktreeFiles, work: Path) -> None:
    (work / "run.sh").write_text("old")
    (work / "run.sh").chmod(0o4755)
    files.write_file("run.sh", "new")
    assert stat.S_IMODE((work / "run.sh").stat().st_mode) == 0o755
    files.edit_file("run.sh", "new", "newer")
    assert stat.S_IMODE((work / "run.sh").stat().st_mode) == 0o755


@pytest.mark.parametrize(
    "path", ["src/new.py", "./src//new.py", " src/new.py ", "src\\new.py", "{work}/src/new.py"]
)
def test_a_path_can_be_written_in_many_ways(files: WorktreeFiles, work: Path, path: str) -> None:
    files.write_file(path.format(work=work), "x")
    assert (work / "src/new.py").read_text() == "x"


@pytest.mark.guarantee("G8")
@pytest.mark.parametrize(
    "path",
    [
        "../out.txt",
        "src/../../out.txt",
        "src/../main.py",
        "/etc/passwd",
        "{work}-other/x",
        "{work}/../out.txt",
        "C:\\out.txt",
        "a\0b",
        "..",
    ],
)
def test_a_path_that_leads_out_is_refused(files: WorktreeFiles, work: Path, path: str) -> None:
    wanted = path.format(work=work)
    with pytest.raises(ToolRefusedError, match="is not inside the project folder"):
        files.write_file(wanted, "x")
    with pytest.raises(ToolRefusedError, match="is not inside the project folder"):
        files.edit_file(wanted, "a", "b")
    with pytest.raises(ToolRefusedError, match="is not inside the project folder"):
        files.delete_file(wanted)
    assert sorted(os.listdir(work.parent)) == ["work"]


@pytest.mark.parametrize("path", ["", ".", "/", "src/", "{work}/"])
def test_a_path_that_is_no_file_is_refused(files: WorktreeFiles, work: Path, path: str) -> None:
    with pytest.raises(ToolError):
        files.write_file(path.format(work=work), "x")


@pytest.mark.guarantee("G8")
@pytest.mark.parametrize("path", [".git", ".git/config", "sub/.git/hooks/x", ".GIT/config", ".git/"])
def test_what_belongs_to_git_is_refused_whatever_the_policy_says(work: Path, path: str) -> None:
    files = WorktreeFiles(work, Forbidden())
    with pytest.raises(ToolError):
        files.write_file(path, "x")
    with pytest.raises(ToolError):
        files.delete_file(path)
    assert (work / ".git").read_text() == "gitdir: elsewhere"


@pytest.mark.guarantee("G8")
def test_no_link_is_followed(files: WorktreeFiles, work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    (work / "folder").symlink_to(outside)
    (work / "file").symlink_to(outside / "file")
    (work / "dangling").symlink_to(outside / "new")
    for path in ("folder/file", "folder/new", "folder/deep/new", "file", "dangling", "dangling/new"):
        with pytest.raises(ToolRefusedError, match="a link"):
            files.write_file(path, "bad")
    for path in ("folder/file", "file"):
        with pytest.raises(ToolError):
            files.edit_file(path, "mine", "bad")
    with pytest.raises(ToolRefusedError, match="a link"):
        files.delete_file("folder/file")
    assert (os.listdir(outside), (outside / "file").read_text()) == (["file"], "mine")


@pytest.mark.guarantee("G8")
def test_a_race_does_not_lead_out(files: WorktreeFiles, work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    swapped = 0
    is_over = threading.Event()

    def swap() -> None:
        nonlocal swapped
        for number in itertools.count():
            if is_over.is_set():
                return
            with suppress(OSError):  # a folder may have been made anew in between
                os.rename(work / "src", tmp_path / f"kept{number}")
                os.symlink(outside, work / "src")
                swapped += 1
                os.unlink(work / "src")
                os.mkdir(work / "src")

    swapping = threading.Thread(target=swap)
    swapping.start()
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        for change in (
            lambda: files.write_file("src/file", "bad"),
            lambda: files.edit_file("src/file", "mine", "bad"),
            lambda: files.delete_file("src/file"),
        ):
            try:
                change()
            except ToolError:
                continue
    is_over.set()
    swapping.join()
    assert swapped > 100
    assert (os.listdir(outside), (outside / "file").read_text()) == (["file"], "mine")


@pytest.mark.parametrize("path", [".env", "deep/.env.local", "certs/a.pem", "id.key"])
def test_a_forbidden_path_is_refused(files: WorktreeFiles, work: Path, path: str) -> None:
    with pytest.raises(ToolRefusedError, match="the policy forbids"):
        files.write_file(path, "x")
    assert not (work / path).exists()


def test_a_forbidden_folder_forbids_all_in_it() -> None:
    forbidden = Forbidden(paths=("secrets", "migrations/**"))
    assert forbidden.path_rule("a/secrets/b/c.txt") == "secrets"
    assert forbidden.path_rule("migrations/1.sql") == "migrations/**"
    assert forbidden.path_rule("src/migrations.py") is None


def test_forbidden_content_is_refused_but_old_sins_are_not_ours(files: WorktreeFiles, work: Path) -> None:
    with pytest.raises(ToolRefusedError, match="content that the policy forbids"):
        files.write_file("new.txt", f"x\n{KEY}\n")
    with pytest.raises(ToolRefusedError, match="content that the policy forbids"):
        files.edit_file("src/main.py", "three", KEY)
    assert not (work / "new.txt").exists()
    (work / "old.txt").write_text(f"{KEY}\nname = 1\n")
    files.edit_file("old.txt", "name = 1", "name = 2")
    assert (work / "old.txt").read_text() == f"{KEY}\nname = 2\n"


def test_a_piece_by_piece_smuggled_content_is_refused(files: WorktreeFiles) -> None:
    files.write_file("new.txt", "-----BEGIN RSA ")
    with pytest.raises(ToolRefusedError):
        files.edit_file("new.txt", "RSA ", "RSA PRIVATE KEY-----")


def test_a_file_too_large_is_refused_and_the_old_one_stays(files: WorktreeFiles, work: Path) -> None:
    files.write_file("large.txt", "x" * MOST_BYTES)
    with pytest.raises(ToolError, match="Divide it into several files"):
        files.write_file("large.txt", "é" * MOST_BYTES)
    assert (work / "large.txt").stat().st_size == MOST_BYTES


def test_text_that_is_not_valid_is_refused(files: WorktreeFiles, work: Path) -> None:
    with pytest.raises(ToolArgumentsError, match="not valid text"):
        files.write_file("new.txt", "\ud800")
    with pytest.raises(ToolArgumentsError, match="not valid text"):
        files.write_file("\ud800.txt", "x")
    assert sorted(os.listdir(work)) == [".git", "src"]


def test_what_stands_in_the_way_is_told(files: WorktreeFiles, work: Path) -> None:
    with pytest.raises(ToolRefusedError, match="a file is on the way"):
        files.write_file("src/main.py/x", "x")
    with pytest.raises(ToolError, match="it is not a file"):
        files.write_file("src", "x")
    with pytest.raises(ToolError, match="File name too long"):
        files.write_file("x" * 300, "x")
    os.mkfifo(work / "pipe")
    with pytest.raises(ToolError, match="it is not a file"):
        files.write_file("pipe", "x")


def test_a_disk_that_is_full_leaves_the_old_file(
    files: WorktreeFiles, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ToolError, match="No space left"):
        files.write_file("src/main.py", "new")
    assert (work / "src/main.py").read_text() == "one\ntwo\nthree\ntwo\n"
    assert os.listdir(work / "src") == ["main.py"]


def test_a_binary_file_can_be_replaced(files: WorktreeFiles, work: Path) -> None:
    (work / "data").write_bytes(b"\xff\xfe\x00")
    files.write_file("data", "text")
    assert (work / "data").read_text() == "text"


# ── editing and deleting ─────────────────────────────────────────────────────────────────────────────────


def test_one_piece_of_a_file_is_replaced(files: WorktreeFiles, work: Path) -> None:
    assert files.edit_file("src/main.py", "two\nthree\n", "2\n3\n4\n") == (
        "Changed src/main.py at line 2: 2 lines became 3."
    )
    assert (work / "src/main.py").read_text() == "one\n2\n3\n4\ntwo\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("two", "2", r"more than once \(lines 2, 4\).*Give more of the lines around it"),
        ("four", "4", "was not found.*Read the file, and give the text exactly"),
        ("   three\n  two", "x", "was not found.*Line 3 is like its first line"),
        ("", "x", "old is empty.*use write_file"),
        ("one", "one", "the same"),
        ("\n\n\n", "x", "was not found.*white space"),
    ],
)
def test_an_edit_that_is_not_clear_changes_nothing(
    files: WorktreeFiles, work: Path, old: str, new: str, words: str
) -> None:
    with pytest.raises(ToolError, match=words):
        files.edit_file("src/main.py", old, new)
    assert (work / "src/main.py").read_text() == "one\ntwo\nthree\ntwo\n"


def test_a_text_that_overlaps_itself_is_there_more_than_once(files: WorktreeFiles) -> None:
    files.write_file("x", "aaa")
    with pytest.raises(ToolError, match="more than once"):
        files.edit_file("x", "aa", "b")
    files.write_file("x", "a\n" * 10)
    with pytest.raises(ToolError, match="lines 1, 2, 3, 4, 5 and more"):
        files.edit_file("x", "a", "b")


def test_the_line_ends_of_a_file_are_kept(files: WorktreeFiles, work: Path) -> None:
    (work / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    files.edit_file("dos.txt", "one\ntwo", "1\n2")
    assert (work / "dos.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


def test_a_file_that_is_no_text_or_not_there_cannot_be_edited(files: WorktreeFiles, work: Path) -> None:
    (work / "data").write_bytes(b"\xff\xfe")
    with pytest.raises(ToolError, match="not a text in UTF-8"):
        files.edit_file("data", "a", "b")
    with pytest.raises(ToolError, match=r"cannot be opened.*list_files"):
        files.edit_file("nowhere.py", "a", "b")


def test_two_edits_at_once_both_hold(files: WorktreeFiles, work: Path) -> None:
    files.write_file("many", "".join(f"<{n}>\n" for n in range(40)))
    threads = [threading.Thread(target=files.edit_file, args=("many", f"<{n}>", f"[{n}]")) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "<" not in (work / "many").read_text()


@given(st.text(alphabet="ab\n", max_size=30), st.text(alphabet="ab\n", max_size=4), st.text(max_size=4))
def test_an_edit_is_one_replacement_or_none(
    tmp_path_factory: pytest.TempPathFactory, text: str, old: str, new: str
) -> None:
    folder = tmp_path_factory.mktemp("edit")
    files = WorktreeFiles(folder, Forbidden())
    (folder / "f").write_bytes(text.encode())
    try:
        files.edit_file("f", old, new)
    except ToolError:
        assert (folder / "f").read_bytes() == text.encode()
    else:
        before, after = text.split(old)
        assert (folder / "f").read_bytes() == (before + new + after).encode()


def test_a_file_is_deleted_and_a_link_without_what_it_leads_to(files: WorktreeFiles, work: Path) -> None:
    (work / "link").symlink_to(work / "src" / "main.py")
    assert files.delete_file("link") == "Deleted link."
    assert (work / "src/main.py").exists()
    assert files.delete_file("src/main.py") == "Deleted src/main.py."
    assert not (work / "src/main.py").exists()


def test_a_folder_or_nothing_cannot_be_deleted(files: WorktreeFiles) -> None:
    with pytest.raises(ToolError, match="is a folder"):
        files.delete_file("src")
    with pytest.raises(ToolError, match="No such file"):
        files.delete_file("nowhere")


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("B2")
async def test_a_command_that_fails_is_a_result(work: Path) -> None:
    run = offered(work)["run_command"]
    assert await call(run, command="ls src; exit 3") == "exit code 3\nmain.py\n"
    assert await call(run, command="true") == "exit code 0, no output"


async def test_a_command_killed_by_a_signal_says_so(work: Path) -> None:
    told = await call(offered(work)["run_command"], command="kill -9 $$")
    assert told.startswith(("exit code 137", "ended by signal 9"))


@pytest.mark.skipif(installed_bubblewrap().program is None, reason="needs bubblewrap")
@pytest.mark.guarantee("G8")
async def test_a_command_cannot_write_outside(work: Path, tmp_path: Path) -> None:
    await call(
        offered(work)["run_command"], command=f"echo x > {tmp_path}/out; echo x > ../out; echo x > .git"
    )
    assert sorted(os.listdir(tmp_path)) == ["work"]
    assert (work / ".git").read_text() == "gitdir: elsewhere"


async def test_a_command_that_takes_too_long_is_an_error_with_its_output(work: Path) -> None:
    run = offered(work, Policy(commands=CommandRules(seconds=1)))["run_command"]
    with pytest.raises(ToolError, match=r"did not end within 1 s and was killed.*so far: begun"):
        await call(run, command="echo begun; sleep 60")
    with pytest.raises(ToolError, match=r"so far: \(none\)"):
        await call(run, command="sleep 60")


async def test_only_allowed_commands_run_and_no_shell_reads_them(work: Path) -> None:
    run = offered(work, Policy(commands=CommandRules(allow=("echo", "ls"))))["run_command"]
    assert "Only these, without pipes and such: echo, ls." in run.spec.description
    assert await call(run, command="echo 'a b' c") == "exit code 0\na b c\n"
    for command, words in {
        "rm -rf src": "is not allowed.*begin with: echo, ls",
        "echo x; rm -rf src": "signs of the shell",
        "echo $(rm -rf src)": "signs of the shell",
        "echo x\nrm -rf src": "signs of the shell",
        "/bin/echo x": "is not allowed",
        "": "is not allowed",
    }.items():
        with pytest.raises(ToolRefusedError, match=words):
            await call(run, command=command)
    with pytest.raises(ToolArgumentsError, match="cannot be read"):
        await call(run, command="echo 'open")
    assert (work / "src/main.py").exists()


async def test_commands_of_python_leave_no_compiled_files(work: Path) -> None:
    (work / "src" / "mod.py").write_text("")
    told = await call(offered(work)["run_command"], command=f"{sys.executable} -c 'import mod'")
    assert told == "exit code 0, no output"
    assert not list(work.rglob("__pycache__"))


async def test_commands_are_run_by_the_programs_that_run_the_tests(work: Path, tmp_path: Path) -> None:
    (tmp_path / "own" / "bin").mkdir(parents=True)
    (tmp_path / "own" / "bin" / "greet").write_text("#!/bin/sh\necho hello\n")
    (tmp_path / "own" / "bin" / "greet").chmod(0o755)
    command = TestCommand(words=("greet",), readable=(tmp_path / "own",), programs=tmp_path / "own" / "bin")
    assert (
        await call(offered(work, command=command)["run_command"], command="greet") == "exit code 0\nhello\n"
    )
    told = await call(offered(work, command=None)["run_command"], command="greet")
    assert told.startswith("exit code 127")


async def test_the_tests_of_the_project_are_run_and_told(work: Path) -> None:
    (work / "test_it.py").write_text("def test_it(): assert 1 == 2\ndef test_ok(): pass\n")
    told = await call(offered(work)["run_tests"])
    assert told.startswith("The tests do not pass (exit code 1")
    assert "1 passed, 1 failed.\n" in told
    assert "- test_it.py::test_it\n" in told
    assert "assert 1 == 2" in told
