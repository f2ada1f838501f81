"""The index: kept up to date, shared between processes, made anew when it is broken. Prose in passages."""

from __future__ import annotations

import os
import pwd
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tools_words import comes_true

from endstop.tools.project import index as index_module
from endstop.tools.project.folder import Folder
from endstop.tools.project.index import Index, text_of
from endstop.tools.project.passages import Passage, passages
from endstop.tools.project.project import Project
from endstop.tools.stopping import ThreadToldToStop


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("alpha = 1\n")
    return tmp_path / "project"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def found(project: Project, query: str) -> list[str]:
    return [source.location for source in project.search_code(query).sources]


def aged(file: Path) -> None:
    """Make a file look as if it had not been touched for a while."""
    os.utime(file, (1_000_000_000, 1_000_000_000))


def test_changes_are_seen_by_the_next_search(root: Path, cache: Path) -> None:
    project = Project(root, cache_dir=cache)
    assert found(project, "alpha") == ["a.py:1"]
    (root / "a.py").write_text("gamma = 1\n")
    assert found(project, "alpha") == []
    assert found(project, "gamma") == ["a.py:1"]
    (root / "b.md").write_text("# Title\n\ngamma\n")
    assert found(project, "gamma") == ["a.py:1", "b.md:3"]
    assert project.search_docs("gamma").sources[0].location == "b.md:1"
    (root / "a.py").rename(root / "c.py")
    (root / "b.md").unlink()
    assert found(project, "gamma") == ["c.py:1"]
    assert project.search_docs("gamma").sources == ()


def test_a_change_that_leaves_size_and_time_as_they_were_is_seen_when_it_was_recent(root: Path) -> None:
    project = Project(root)
    assert found(project, "alpha") == ["a.py:1"]
    stamp = (root / "a.py").stat()
    (root / "a.py").write_text("omega = 1\n")
    os.utime(root / "a.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert found(project, "omega") == ["a.py:1"]


def test_an_unchanged_file_is_not_read_again_and_a_touched_one_not_indexed_again(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(root / "a.py")
    found(Project(root, cache_dir=cache), "alpha")
    reads: list[str] = []
    read = Folder.read

    def counted(self: Folder, path: str, *, most_bytes: int) -> bytes:
        reads.append(path)
        return read(self, path, most_bytes=most_bytes)

    monkeypatch.setattr(Folder, "read", counted)
    project = Project(root, cache_dir=cache)
    assert found(project, "alpha") == ["a.py:1"]
    assert reads == []
    os.utime(root / "a.py", (1_000_000_009, 1_000_000_009))
    changes = _changes(project)
    assert found(project, "alpha") == ["a.py:1"]
    assert reads == ["a.py"]
    assert _changes(project) - changes <= 1
    assert found(project, "alpha") == ["a.py:1"]
    assert reads == ["a.py"]


def _changes(project: Project) -> int:
    with project._index.searching() as connection:  # pyright: ignore[reportPrivateUsage]
        return connection.total_changes


def test_binaries_and_large_files_are_left_out_and_large_ones_named(root: Path) -> None:
    (root / "image.bin").write_bytes(b"needle\0needle")
    (root / "latin.txt").write_bytes("needle café".encode("latin-1"))
    (root / "large.txt").write_text("needle\n" * 200_000)
    (root / "late_nul.txt").write_bytes(b"haystack " * 1_000 + b"\0")
    (root / "bom.txt").write_bytes("\ufeffneedle\r\nthread\rend".encode())
    result = Project(root).search_code("needle")
    assert [source.location for source in result.sources] == ["bom.txt:1"]
    assert result.text.endswith("Not searched, over 1 MB: large.txt")
    assert found(Project(root), "haystack") == ["late_nul.txt:1"]
    assert "Nothing found for 'zzzz' (3 files searched)" in Project(root).search_code("zzzz").text
    assert text_of(b"a\r\nb\rc") == "a\nb\nc"


def test_a_file_that_becomes_binary_or_too_large_is_forgotten(root: Path) -> None:
    project = Project(root)
    assert found(project, "alpha")
    (root / "a.py").write_bytes(b"alpha\0")
    assert not found(project, "alpha")
    (root / "a.py").write_text("alpha\n")
    assert found(project, "alpha")
    (root / "a.py").write_text("alpha\n" * 300_000)
    assert not found(project, "alpha")


@contextmanager
def without_privileges() -> Generator[None]:
    """Root may read everything, so for a while we are not root."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)


def test_a_file_that_may_not_be_read_is_left_out() -> None:
    with TemporaryDirectory() as folder:  # not below pytest's own, which nobody else may enter
        Path(folder).chmod(0o755)
        (Path(folder) / "a.py").write_text("alpha\n")
        (Path(folder) / "closed.py").write_text("alpha\n")
        (Path(folder) / "closed.py").chmod(0)
        with without_privileges():
            assert found(Project(Path(folder)), "alpha") == ["a.py:1"]


def test_a_file_that_goes_away_while_it_is_indexed_does_no_harm(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "b.py").write_text("alpha\n")
    read = Folder.read

    def vanishing(self: Folder, path: str, *, most_bytes: int) -> bytes:
        (root / "b.py").unlink(missing_ok=True)
        return read(self, path, most_bytes=most_bytes)

    monkeypatch.setattr(Folder, "read", vanishing)
    project = Project(root)
    assert found(project, "alpha") == ["a.py:1"]
    assert found(project, "alpha") == ["a.py:1"]


@pytest.mark.parametrize("damage", ["garbage", "truncated", "tables gone", "index out of step"])
def test_a_broken_index_is_made_anew(damage: str, root: Path, cache: Path) -> None:
    for number in range(30):
        (root / f"f{number}.py").write_text(f"alpha{number} = {number}\n" * 50)
    first = Project(root, cache_dir=cache)
    assert found(first, "alpha7")
    del first
    (file,) = cache.glob("*.sqlite3")
    if damage == "garbage":
        file.write_bytes(os.urandom(50_000))
    elif damage == "truncated":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    else:
        connection = sqlite3.connect(file)
        connection.executescript(
            "DROP TABLE code; CREATE TABLE code (x);" if damage == "tables gone" else "DELETE FROM code_data"
        )
        connection.close()
    (root / "a.py").write_text("omega = 1\n")
    assert found(Project(root, cache_dir=cache), "omega") == ["a.py:1"]


@pytest.mark.parametrize(
    "obstacle", ["a file where the folder should be", "a folder where the file should be"]
)
def test_where_the_index_cannot_be_written_it_lives_in_memory(obstacle: str, root: Path, cache: Path) -> None:
    if obstacle.startswith("a file"):
        cache.write_text("in the way")
    else:
        project = Project(root, cache_dir=cache)
        assert project._index._file is not None  # pyright: ignore[reportPrivateUsage]
        project._index._file.mkdir(parents=True)  # pyright: ignore[reportPrivateUsage]
    assert found(Project(root, cache_dir=cache), "alpha") == ["a.py:1"]


def test_an_index_in_memory_that_breaks_is_made_anew(root: Path) -> None:
    project = Project(root)
    assert found(project, "alpha")
    with project._index.searching() as connection:  # pyright: ignore[reportPrivateUsage]
        connection.execute("DROP TABLE files")
    assert found(project, "alpha") == ["a.py:1"]


def test_one_cache_folder_serves_several_projects(root: Path, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.py").write_text("alpha = 2\n")
    assert found(Project(root, cache_dir=cache), "alpha") == ["a.py:1"]
    assert found(Project(tmp_path / "other", cache_dir=cache), "alpha") == ["b.py:1"]
    assert len(list(cache.glob("*.sqlite3"))) == 2


def test_several_processes_and_threads_share_one_index(root: Path, cache: Path) -> None:
    for number in range(300):
        (root / f"f{number}.py").write_text(f"alpha{number} = {number}\n")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from endstop.tools.project.project import Project\n"
        "root, cache, name = sys.argv[1:]\n"
        "project = Project(root, cache_dir=cache)\n"
        "for number in range(20):\n"
        "    Path(root, f'{name}.py').write_text(f'{name}_{number} = 1')\n"
        "    found = [one.location for one in project.search_code(f'{name}_{number}').sources]\n"
        "    assert found == [f'{name}.py:1'], (number, found)\n"
    )
    others = [
        subprocess.Popen([sys.executable, "-c", code, str(root), str(cache), name], stderr=subprocess.PIPE)
        for name in ("first", "second")
    ]
    project = Project(root, cache_dir=cache)
    results: list[list[str]] = []

    def search() -> None:
        results.append(found(project, "alpha77"))

    searches = [threading.Thread(target=search) for _ in range(4)]
    for thread in searches:
        thread.start()
    for thread in searches:
        thread.join()
    assert results == [["f77.py:1"]] * 4
    for other in others:
        _, errors = other.communicate(timeout=50)
        assert (other.returncode, errors) == (0, b"")
    with project._index.searching() as connection:  # pyright: ignore[reportPrivateUsage]
        connection.execute("INSERT INTO code (code) VALUES ('integrity-check')")
        connection.execute("INSERT INTO prose (prose) VALUES ('integrity-check')")


def test_while_another_process_writes_a_search_uses_what_is_there(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "_BUSY_S", 0.05)
    project = Project(root, cache_dir=cache)
    assert found(project, "alpha") == ["a.py:1"]
    (file,) = cache.glob("*.sqlite3")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    (root / "b.py").write_text("alpha\n")
    assert found(project, "alpha") == ["a.py:1"]
    other.rollback()
    other.close()
    assert found(project, "alpha") == ["a.py:1", "b.py:1"]


def test_a_search_that_is_told_to_stop_leaves_the_index_usable(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(root)
    read = Folder.read

    def stopped(self: Folder, path: str, *, most_bytes: int) -> bytes:
        raise ThreadToldToStop

    monkeypatch.setattr(Folder, "read", stopped)
    with pytest.raises(ThreadToldToStop):
        project.search_code("alpha")
    monkeypatch.setattr(Folder, "read", read)
    with project._index._lock:  # pyright: ignore[reportPrivateUsage]
        assert project._index._connection is not None  # pyright: ignore[reportPrivateUsage]
        project._index._connection.execute("BEGIN IMMEDIATE")  # pyright: ignore[reportPrivateUsage]
    assert found(project, "alpha") == ["a.py:1"]


def test_the_database_is_closed_with_the_project(root: Path, cache: Path) -> None:
    index = Index(Folder(root), cache_dir=cache)
    with index.searching() as connection:
        pass
    del index
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_looking_for_changes_in_a_tree_of_5000_files_takes_well_under_a_second(tmp_path: Path) -> None:
    for number in range(5_000):
        file = tmp_path / "tree" / f"d{number % 100}" / f"f{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"alpha{number} = 1\n")
        aged(file)
    (tmp_path / "tree" / ".gitignore").write_text("*.log\nbuild/\n")
    project = Project(tmp_path / "tree", cache_dir=tmp_path / "cache")
    assert found(project, "alpha4321") == ["d21/f4321.py:1"]
    assert comes_true(lambda: _seconds(lambda: found(project, "alpha4321")) < 0.5)


def _seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def test_prose_is_cut_at_its_headings_and_knows_where_it_stands() -> None:
    text = "Intro\n\n# One\na\n\n```\n# not a heading\n```\n## Two\nb\n# Three\nc"
    assert passages(text) == [
        Passage(1, "", "Intro\n"),
        Passage(3, "One", "# One\na\n\n```\n# not a heading\n```"),
        Passage(9, "One > Two", "## Two\nb"),
        Passage(11, "Three", "# Three\nc"),
    ]


def test_headings_of_other_markups_are_known_too() -> None:
    assert [one.heading for one in passages("Title\n=====\na\n\nPart\n----\nb\n")] == [
        "Title",
        "Title > Part",
    ]
    assert [one.heading for one in passages("= Title\na\n== Part\nb\n\n----\n= code\n----\n")] == [
        "Title",
        "Title > Part",
    ]
    assert [one.heading for one in passages("* Title\na\n** Part\nb\n")] == ["Title", "Title > Part"]


def test_long_sections_are_cut_at_their_paragraphs_and_nothing_is_lost() -> None:
    paragraphs = "\n\n".join(f"paragraph {number} " + "word " * 60 for number in range(20))
    long_line = "x" * 5_000
    text = f"# Long\n{paragraphs}\n\n{long_line}\n{long_line}\nend"
    pieces = passages(text)
    assert "\n".join(one.text for one in pieces) == text
    assert len(pieces) > 5
    lines = text.split("\n")
    for one in pieces:
        assert one.text.split("\n")[0] == lines[one.line - 1]


def test_empty_prose_has_no_passages() -> None:
    assert passages("") == []
    assert passages("\n\n \n") == []
