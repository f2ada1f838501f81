"""The library of tree files: found by name, read again when they change, and never worse than before (E5)."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from endstop.errors import TreeError, UnknownTreeError
from endstop.tree.files import Find, TreeLibrary
from endstop.tree.lua import LIMITS
from endstop.tree.problems import Problem, refused
from endstop.tree.spec import NodeSpec, TreeSpec


def referred(root: NodeSpec) -> list[str]:
    return [str(node.parameters["tree"]) for node in root.walk() if node.kind == "subtree_ref"]


class Checks:
    """Resolves references one level deep, and counts how often it was asked."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, tree: TreeSpec, find: Find) -> TreeSpec:
        self.count += 1
        subtrees: list[TreeSpec] = []
        for name in referred(tree.root):
            subtree = find(name)
            if subtree is None:
                raise refused(tree.name, [Problem(file=tree.file, what=f"There is no tree {name!r}")])
            subtrees.append(subtree)
        return replace(tree, subtrees=tuple(subtrees))


def action(name: str) -> str:
    return f'BT.action("{name}")'


def reference(name: str) -> str:
    return f'BT.subtree_ref("{name}")'


_times_ns = count(1_000_000_000_000_000_000, 1_000_000_000)


def write(folder: Path, name: str, root: str, *, called: str | None = None) -> Path:
    """A tree file that is newer than any before it, however quick the test is."""
    return write_text(folder, name, f'return BT.tree("{called or name}", {{ root = {root} }})')


def write_text(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.lua"
    path.write_text(text, encoding="utf-8")
    time_ns = next(_times_ns)
    os.utime(path, ns=(time_ns, time_ns))
    return path


@pytest.fixture
def checks() -> Checks:
    return Checks()


@pytest.fixture
def library(tmp_path: Path, checks: Checks) -> TreeLibrary:
    return TreeLibrary([tmp_path], check=checks)


def test_a_tree_is_found_by_the_name_of_its_file(tmp_path: Path, library: TreeLibrary) -> None:
    path = write(tmp_path, "agent", action("a.b"))
    tree = library.get("agent")
    assert (tree.name, tree.file, tree.root.name) == ("agent", "agent.lua", "a.b")
    assert library.path("agent") == path
    assert library.source("agent") == path.read_text(encoding="utf-8")
    assert library.trouble("agent") is None


def test_names_are_those_of_the_lua_files_in_order(tmp_path: Path, library: TreeLibrary) -> None:
    for name in ("b", "a", ".hidden"):
        write(tmp_path, name, action("a.b"))
    (tmp_path / "folder.lua").mkdir()
    (tmp_path / "notes.txt").write_text("", encoding="utf-8")
    (tmp_path / "gone.lua").symlink_to(tmp_path / "nothing")
    assert library.names() == ("a", "b")


def test_a_file_in_a_later_folder_wins(tmp_path: Path, checks: Checks) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    write(first, "agent", action("a.first"))
    write(first, "other", action("a.other"))
    library = TreeLibrary([first, second], check=checks)
    assert library.get("agent").root.name == "a.first"
    write(second, "agent", action("a.second"))
    assert library.get("agent").root.name == "a.second"
    assert library.names() == ("agent", "other")
    library.path("agent").unlink()
    assert library.get("agent").root.name == "a.first"


def test_a_folder_that_does_not_exist_is_empty(tmp_path: Path, checks: Checks) -> None:
    library = TreeLibrary([tmp_path / "nowhere"], check=checks)
    assert library.names() == ()
    with pytest.raises(UnknownTreeError, match=r"Allowed: none: there are no tree files"):
        library.get("agent")


def test_a_folder_that_is_none_is_told(tmp_path: Path, checks: Checks) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(TreeError, match=r"The folder '.*file' cannot be read: Not a directory"):
        TreeLibrary([tmp_path / "file"], check=checks).names()


def test_a_name_that_there_is_not_is_told_with_the_one_that_was_meant(
    tmp_path: Path, library: TreeLibrary
) -> None:
    write(tmp_path, "oracle-agent", action("a.b"))
    with pytest.raises(
        UnknownTreeError, match=r"There is no tree 'orcale-agent'.*Perhaps 'oracle-agent' was meant"
    ):
        library.get("orcale-agent")
    with pytest.raises(UnknownTreeError, match=r"Write a file xyz\.lua"):
        library.trouble("xyz")


@pytest.mark.guarantee("E4")
@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "inner/../../outside", "", ".", "\0"])
def test_a_name_never_leads_out_of_the_folders(tmp_path: Path, checks: Checks, name: str) -> None:
    folder = tmp_path / "trees"
    folder.mkdir()
    write(tmp_path, "outside", action("a.b"))
    library = TreeLibrary([folder], check=checks)
    for asked in (library.get, library.source, library.path, library.trouble):
        with pytest.raises(UnknownTreeError):
            asked(name)


def test_a_tree_is_called_like_its_file(tmp_path: Path, library: TreeLibrary) -> None:
    write(tmp_path, "agent", action("a.b"), called="other")
    with pytest.raises(TreeError) as caught:
        library.get("agent")
    assert caught.value.problems == (
        "agent.lua: The tree is called 'other', and its file 'agent'. Give both the same name.",
    )


def test_a_tree_that_has_not_changed_is_not_read_or_checked_again(
    tmp_path: Path, library: TreeLibrary, checks: Checks
) -> None:
    write(tmp_path, "agent", reference("turn"))
    write(tmp_path, "turn", action("a.b"))
    first = library.get("agent")
    assert library.get("agent") is first
    assert library.trouble("agent") is None
    write(tmp_path, "unrelated", action("a.b"))
    assert library.get("agent") is first
    assert checks.count == 1


@pytest.mark.guarantee("E5")
def test_a_changed_file_gives_the_new_tree_and_leaves_the_old_one_as_it_was(
    tmp_path: Path, library: TreeLibrary
) -> None:
    write(tmp_path, "agent", action("a.old"))
    old = library.get("agent")
    write(tmp_path, "agent", action("a.new"))
    assert library.get("agent").root.name == "a.new"
    assert old.root.name == "a.old"


@pytest.mark.guarantee("E5")
def test_a_change_in_a_tree_that_is_referred_to_is_seen(tmp_path: Path, library: TreeLibrary) -> None:
    write(tmp_path, "agent", reference("turn"))
    write(tmp_path, "turn", action("a.old"))
    assert library.get("agent").subtrees[0].root.name == "a.old"
    write(tmp_path, "turn", action("a.new"))
    assert library.get("agent").subtrees[0].root.name == "a.new"


@pytest.mark.guarantee("E5")
def test_a_broken_file_keeps_the_last_good_tree_and_says_why(
    tmp_path: Path, library: TreeLibrary, checks: Checks
) -> None:
    write(tmp_path, "agent", action("a.good"))
    good = library.get("agent")
    write(tmp_path, "agent", "BT.sequnce{}")
    for _ in range(2):
        assert library.get("agent") is good
        trouble = library.trouble("agent")
        assert trouble is not None
        assert trouble.problems == ("agent.lua:1: There is no BT.sequnce. Perhaps 'sequence' was meant.",)
    assert "BT.sequnce{}" in library.source("agent")
    write(tmp_path, "agent", action("a.mended"))
    assert library.get("agent").root.name == "a.mended"
    assert library.trouble("agent") is None
    assert checks.count == 2


@pytest.mark.guarantee("E5")
def test_a_broken_file_that_is_referred_to_keeps_the_last_good_tree(
    tmp_path: Path, library: TreeLibrary
) -> None:
    write(tmp_path, "agent", reference("turn"))
    write(tmp_path, "turn", action("a.good"))
    good = library.get("agent")
    write_text(tmp_path, "turn", "this is no Lua")
    assert library.get("agent") is good
    trouble = library.trouble("agent")
    assert trouble is not None
    assert trouble.problems[0].startswith("turn.lua:1: This is not Lua")


def test_a_file_that_is_referred_to_and_removed_keeps_the_last_good_tree(
    tmp_path: Path, library: TreeLibrary
) -> None:
    write(tmp_path, "agent", reference("turn"))
    gone = write(tmp_path, "turn", action("a.good"))
    good = library.get("agent")
    gone.unlink()
    assert library.get("agent") is good
    assert "There is no tree 'turn'" in str(library.trouble("agent"))


def test_a_missing_file_that_is_written_later_is_found(tmp_path: Path, library: TreeLibrary) -> None:
    write(tmp_path, "agent", reference("turn"))
    with pytest.raises(TreeError, match="There is no tree 'turn'"):
        library.get("agent")
    write(tmp_path, "turn", action("a.b"))
    assert library.get("agent").subtrees[0].name == "turn"


def test_a_tree_whose_own_file_is_gone_is_unknown(tmp_path: Path, library: TreeLibrary) -> None:
    path = write(tmp_path, "agent", action("a.b"))
    library.get("agent")
    path.unlink()
    with pytest.raises(UnknownTreeError):
        library.get("agent")


def test_a_file_that_never_was_good_is_refused_each_time(tmp_path: Path, library: TreeLibrary) -> None:
    write_text(tmp_path, "agent", "")
    write(tmp_path, "other", reference("agent"))
    for name in ("agent", "other", "agent"):
        with pytest.raises(TreeError, match="The file makes no tree"):
            library.get(name)
    assert library.names() == ("agent", "other")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfe", "The file is not UTF-8 text. Save it as UTF-8."),
        (
            b"-" * (LIMITS.bytes + 1),
            "The file is larger than 100,000 bytes. "
            "Divide it into several files, and name the others with BT.subtree_ref.",
        ),
    ],
    ids=["not UTF-8", "too large"],
)
def test_a_file_that_cannot_be_taken_is_told_in_plain_words(
    tmp_path: Path, library: TreeLibrary, content: bytes, told: str
) -> None:
    (tmp_path / "agent.lua").write_bytes(content)
    for asked in (library.get, library.source):
        with pytest.raises(TreeError) as caught:
            asked("agent")
        assert caught.value.problems == (f"agent.lua: {told}",)


def test_a_file_that_vanishes_while_it_is_read_is_told(tmp_path: Path, library: TreeLibrary) -> None:
    if not Path("/proc/self/mem").exists():
        pytest.skip("needs a file that is there and cannot be read")
    (tmp_path / "agent.lua").symlink_to("/proc/self/mem")
    with pytest.raises(TreeError, match=r"agent\.lua: The file cannot be read: Input/output error"):
        library.get("agent")
