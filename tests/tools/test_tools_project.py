"""Tools over a project folder: what they find, what they show, and that nothing leads out of the folder."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools_words import CONTEXT, open_files

import endstop
from endstop.errors import InvalidValueError, ToolError, ToolRefusedError
from endstop.loop.toolbox import Toolbox
from endstop.ports import ToolResult
from endstop.tools import project_tools
from endstop.tools.project import folder as folder_module
from endstop.tools.project import walk
from endstop.tools.project.folder import Folder
from endstop.tools.project.glob import matches
from endstop.tools.project.project import Project

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of a project."""

    def written(path: str, content: str | bytes = "") -> Path:
        file = tmp_path / "project" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    written("login.py", "import time\n\n\ndef log_in(user: str) -> bool:\n    return user == 'ann'\n")
    return written


@pytest.fixture
def project(write: Write, tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def places(result: ToolResult) -> list[str]:
    return [source.location for source in result.sources]


async def test_the_four_tools_are_called_like_any_other(project: Project, tmp_path: Path) -> None:
    box = Toolbox(project_tools(tmp_path / "project"))
    assert box.names == ("search_code", "read_file", "list_files", "search_docs")
    assert all(not one.traits.changes_something and one.traits.is_idempotent for one in box)
    result = await box.get("search_code").call('{"query": "log_in", "limit": 3}', CONTEXT)
    assert result.text == (
        "login.py:4\n2  \n3  \n4  def log_in(user: str) -> bool:\n5      return user == 'ann'"
    )
    assert result.sources[0].location == "login.py:4"
    assert "def log_in" in result.sources[0].passage
    for name, arguments in (
        ("read_file", {"path": "login.py"}),
        ("list_files", {}),
        ("search_docs", {"query": "x"}),
    ):
        assert (await box.get(name).call(json.dumps(arguments), CONTEXT)).text
    assert box.get("read_file").spec.description == "Read a file of the project, with line numbers."


def test_a_definition_comes_before_its_uses_and_code_before_tests_and_prose(
    write: Write, project: Project
) -> None:
    write("a_use.py", "from login import log_in\nlog_in('x')\nlog_in('y')\n")
    write("tests/test_login.py", "def log_in():\n    pass\n")
    write("docs/login.md", "# log_in\n\nlog_in log_in log_in\n")
    found = places(project.search_code("log_in"))
    assert found[0] == "login.py:4"
    assert found.index("a_use.py:1") < found.index("docs/login.md:1")


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("LOG_IN", "login.py:4"),
        ("def log_in(", "login.py:4"),
        ("log in user", "login.py:4"),
        ("where is the user logged in?", "login.py:4"),
        ("user ==", "login.py:5"),
        ("==   'ann'", "login.py:5"),
        ("logIn", "login.py:4"),
        ("login.py", "login.py:1"),
        ("nn", "login.py:5"),
        ("=", "login.py:5"),
    ],
)
def test_names_fragments_and_questions_find_the_line(query: str, place: str, project: Project) -> None:
    assert places(project.search_code(query))[0] == place


def test_search_can_be_confined_to_a_folder_or_a_file(write: Write, project: Project) -> None:
    write("src/a.py", "needle = 1\n")
    write("src2/a.py", "needle = 1\n")
    assert places(project.search_code("needle", path="src")) == ["src/a.py:1"]
    assert places(project.search_code("needle", path="src2/a.py")) == ["src2/a.py:1"]
    assert "Nothing found for 'needle' below docs" in project.search_code("needle", path="docs").text
    with pytest.raises(ToolRefusedError):
        project.search_code("needle", path="../..")


def test_at_most_as_many_places_as_asked_and_few_of_one_file(write: Write, project: Project) -> None:
    write("many.py", "needle()\n" + "\n" * 20 + ("needle()\n" + "\n" * 20) * 9)
    for number in range(60):
        write(f"use{number}.py", "needle()\n")
    assert len(places(project.search_code("needle", limit=5))) == 5
    assert len(places(project.search_code("needle", limit=0))) == 1
    found = places(project.search_code("needle", limit=10_000))
    assert len(found) == 50
    assert sum(place.startswith("many.py") for place in found) <= 3


def test_words_near_each_other_come_before_words_far_apart(write: Write, project: Project) -> None:
    write("far.py", "alpha = 1\n" + "x = 0\n" * 50 + "beta = 1\n")
    write("near.py", "x = 0\nalpha = 1\ny = 0\nbeta = 1\n")
    assert places(project.search_code("alpha beta"))[0] == "near.py:2"


QUERIES = [
    *(
        "",
        " ",
        '"',
        "'",
        '"unclosed',
        "a AND",
        "NOT",
        "NEAR(a b)",
        "col:val",
        "*",
        "a*",
        "^a",
        "-a",
        "(",
        "{}",
        "[a",
    ),
    *(
        "a\0b",
        "\0",
        "\ud800",
        "😀",
        "é",
        "日本語",
        "x",
        "ab",
        "%",
        "_",
        "\\",
        "'; DROP TABLE files; --",
        "\n\t",
    ),
    *("a" * 100_000, "word " * 20_000, '"' * 1_000, "(a" * 10_000, "ａｂｃ", "İstanbul", "ß", "ﬀ"),
]


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_queries_of_any_shape_are_answered(query: str, write: Write, project: Project) -> None:
    write("odd.md", "# Odd 😀\n\n日本語 İstanbul ß ﬀ é 100% a_b\n")
    for result in (project.search_code(query), project.search_docs(query)):
        assert result.text
        assert len(result.text) < 5_000


@pytest.mark.parametrize("query", ["😀", "日本語", "本", "İstanbul", "é", "100%"])
def test_signs_and_words_of_every_script_are_found(query: str, write: Write, project: Project) -> None:
    write("odd.md", "# Odd 😀\n\n日本語 İstanbul ß é 100% a_b\n")
    assert places(project.search_code(query))
    assert places(project.search_docs(query))


def test_docs_are_found_by_words_in_any_form_and_headings_count_most(write: Write, project: Project) -> None:
    write(
        "docs/guide.md", "# Guide\n\nIntro.\n\n## Installing\n\nRun pip.\n\n## Other\n\nYou may install it.\n"
    )
    write("notes.txt", "Nothing about that.\n")
    write("code.py", "# install\n")
    result = project.search_docs("how do I install it?")
    assert places(result)[:2] == ["docs/guide.md:5", "docs/guide.md:9"]
    assert result.sources[0].title == "Guide > Installing"
    assert "docs/guide.md:5 Guide > Installing\n5  ## Installing\n6  \n7  Run pip." in result.text
    assert not any(place.startswith("code.py") for place in places(result))
    assert places(project.search_docs("pipInstall"))[0] == "docs/guide.md:5"


def test_the_vault_is_searched_too_and_its_files_can_be_read(write: Write, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "idea.md").write_text("# Ideas\n\nA submarine with wings.\n")
    write("README.md", "# Readme\n\nNo submarine here, only words about one.\n")
    project = Project(tmp_path / "project", vault=tmp_path / "vault")
    assert set(places(project.search_docs("submarine"))) == {"vault:idea.md:1", "README.md:1"}
    assert "A submarine with wings." in project.read_file("vault:idea.md").text
    with pytest.raises(ToolRefusedError):
        project.read_file("vault:../project/login.py")
    with pytest.raises(ToolError, match=r"There is no file 'vault:idea\.md'"):
        Project(tmp_path / "project").read_file("vault:idea.md")


def test_a_file_is_read_with_line_numbers_and_says_what_is_left(write: Write, project: Project) -> None:
    write("long.txt", "".join(f"line {number}\r\n" for number in range(1, 301)))
    result = project.read_file("long.txt", start_line=99, lines=2)
    assert result.text == "long.txt, lines 99 to 100 of 300\n 99  line 99\n100  line 100\n(200 more lines)"
    assert places(result) == ["long.txt:99"]
    assert "(100 more lines)" in project.read_file("long.txt").text
    assert "more lines" not in project.read_file("long.txt", start_line=-5, lines=100_000).text
    with pytest.raises(ToolError, match=r"has no line 301. Allowed: start_line from 1 to 300"):
        project.read_file("long.txt", start_line=301)


def test_an_empty_file_and_a_very_long_line_can_be_read(write: Write, project: Project) -> None:
    write("empty.py")
    write("long.json", "x" * 900_000)
    assert "(the file is empty)" in project.read_file("empty.py").text
    assert "characters left out" in project.read_file("long.json").text
    assert len(project.read_file("long.json").text) < 1_000
    assert len(project.search_code("xxxx").text) < 1_000


def test_what_cannot_be_read_says_why_and_what_was_probably_meant(
    write: Write, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("src/deep/helper.py", "x = 1\n")
    write("image.png", b"\x89PNG\0\0")
    write("latin.txt", "café".encode("latin-1"))
    monkeypatch.setattr("endstop.tools.project.project.MOST_READ_BYTES", 1_000)
    write("huge.txt", "x" * 2_000)
    for path, words in (
        ("helper.py", "Probably src/deep/helper.py was meant"),
        ("src/deep/helpr.py", "Probably src/deep/helper.py was meant"),
        ("zzz", "Use list_files"),
        ("image.png", "is a binary file"),
        ("latin.txt", "is a binary file"),
        ("src", "is not a file"),
        ("", "is a folder"),
        ("huge.txt", "has 2,000 bytes. Allowed: files of at most 1,000 bytes"),
    ):
        with pytest.raises(ToolError, match=words):
            project.read_file(path)


def test_files_are_listed_with_their_sizes_by_folder_and_pattern(write: Write, project: Project) -> None:
    write("src/a.py", "x" * 1_500)
    write("src/deep/test_b.py")
    write("src/c.md", b"x" * 1_200_000)
    assert project.list_files().text.split("\n") == [
        "login.py (70 B)",
        "src/a.py (1.5 kB)",
        "src/c.md (1.2 MB)",
        "src/deep/test_b.py (0 B)",
    ]
    assert project.list_files("src", "*.py").text == "src/a.py (1.5 kB)\nsrc/deep/test_b.py (0 B)"
    assert project.list_files(pattern="src/**/test_*.py").text == "src/deep/test_b.py (0 B)"
    assert project.list_files(pattern="*.rs").text == "No file matches '*.rs' below the project folder."
    assert project.list_files("nowhere").text == "There are no files below nowhere."
    with pytest.raises(ToolError, match="is a file"):
        project.list_files("src/a.py")


@pytest.mark.parametrize(
    ("pattern", "fitting"),
    [
        ("*.py", ["a.py", "src/a.py", "src/deep/b.py"]),
        ("a.py", ["a.py", "src/a.py"]),
        ("src/*.py", ["src/a.py"]),
        ("/src/*.py", ["src/a.py"]),
        ("src/**", ["src/a.py", "src/deep/b.py"]),
        ("src/", ["src/a.py", "src/deep/b.py"]),
        ("src/**/*.py", ["src/a.py", "src/deep/b.py"]),
        ("**/deep/**/b.*", ["src/deep/b.py"]),
        ("[ab].p?", ["a.py", "src/a.py", "src/deep/b.py"]),
        ("*/*.py", ["src/a.py"]),
        ("[", []),
        ("!*.py", []),
        ("src/deep/b.py/x", []),
    ],
)
def test_patterns_mean_what_they_mean_elsewhere(pattern: str, fitting: list[str]) -> None:
    assert [path for path in ("a.py", "src/a.py", "src/deep/b.py") if matches(path, pattern)] == fitting


def test_no_pattern_and_no_rule_takes_long(write: Write, project: Project) -> None:
    write("a" * 250, "needle\n")
    write(".gitignore", "*a" * 100 + "*b\n" + "*a" * 3 + "b\n" + "x" * 600 + "\n")
    before = time.perf_counter()
    for pattern in ("*a" * 90 + "*b", "**/" * 60 + "b", "*/**/" * 40 + "*b"):
        assert "No file matches" in project.list_files(pattern=pattern).text
    assert places(project.search_code("needle")) == ["a" * 250 + ":1"]
    assert time.perf_counter() - before < 1


def test_long_lists_are_cut_with_a_note(
    write: Write, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(510):
        write(f"f{number:03}.txt")
    assert project.list_files().text.endswith("(11 more; use path or pattern to see them)")
    monkeypatch.setattr(walk, "MOST_FILES", 5)
    monkeypatch.setattr("endstop.tools.project.project.MOST_FILES", 5)
    assert "too many files: only the first 5 are known" in project.list_files().text


def test_what_git_ignores_is_neither_listed_nor_found_nor_read(write: Write, project: Project) -> None:
    write(".gitignore", "*.log\n/build/\nsecret*\n!secret_but_shown.py\n# a comment\n")
    write("src/.gitignore", "local.py\n!keep.log\n")
    write(".git/info/exclude", "mine.py\n")
    for path in ("a.log", "build/out.py", "secret.py", "src/local.py", ".git/config.py", "src/mine.py"):
        write(path, "needle = 1\n")
    for path in ("node_modules/x/y.js", "src/__pycache__/a.py", "sub/build.log/x.py"):
        write(path, "needle = 1\n")
    shown = ["secret_but_shown.py", "src/keep.log", "sub/build/in.py", "sub/local.py"]
    for path in shown:
        write(path, "needle = 1\n")
    listed = [line.split(" ")[0] for line in project.list_files().text.split("\n")]
    assert [path for path in listed if path.endswith((".py", ".log", ".js"))] == ["login.py", *shown]
    assert sorted(places(project.search_code("needle"))) == [f"{path}:1" for path in shown]
    for path in (
        "a.log",
        "build/out.py",
        "secret.py",
        "src/local.py",
        ".git/config.py",
        "node_modules/x/y.js",
    ):
        with pytest.raises(ToolRefusedError, match="is ignored by git"):
            project.read_file(path)
    assert "needle" in project.read_file("src/keep.log").text


def test_new_rules_are_seen_at_once(write: Write, project: Project) -> None:
    write("a.gen", "needle\n")
    assert places(project.search_code("needle")) == ["a.gen:1"]
    rules = write(".gitignore", "*.gen\n")
    assert places(project.search_code("needle")) == []
    rules.unlink()
    assert places(project.search_code("needle")) == ["a.gen:1"]


def test_rules_that_cannot_be_read_are_passed_over(write: Write, project: Project) -> None:
    write(".gitignore", "//\n!\n\\\n*.gen\n[z-a]\n")
    write("a.gen", "needle\n")
    write("src/.gitignore", "x" * 300_000)
    (write("odd/x.py", "needle\n").parent / ".gitignore").mkdir()
    assert places(project.search_code("needle")) == ["odd/x.py:1"]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    secret = tmp_path / "outside" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("the needle of truth\n")
    return secret


@pytest.mark.guarantee("G8")
@pytest.mark.parametrize(
    "path",
    [
        *(
            "../outside/secret.txt",
            "/etc/passwd",
            "{outside}",
            "src/../../outside/secret.txt",
            "..",
            "/",
            "//etc/passwd",
        ),
        *(
            "..\\outside\\secret.txt",
            "C:\\Windows\\win.ini",
            "c:/x",
            "\\\\server\\share",
            "a\0b",
            "\0",
            "link.txt",
        ),
        *("linked/secret.txt", "linked", "chain.txt", "src/up/outside/secret.txt", "\ud800", "loop/x/y"),
    ],
)
def test_no_path_leads_out_of_the_folder(path: str, write: Write, project: Project, outside: Path) -> None:
    root = write("src/a.py", "x\n").parent.parent
    (root / "link.txt").symlink_to(outside)
    (root / "linked").symlink_to(outside.parent)
    (root / "chain.txt").symlink_to("link.txt")
    (root / "src" / "up").symlink_to("../..")
    (root / "loop").symlink_to("loop")
    wanted = path.replace("{outside}", str(outside))

    def search(path: str) -> ToolResult:
        return project.search_code("needle", path)

    asks: list[Callable[[str], ToolResult]] = [project.read_file, project.list_files, search]
    for ask in asks:
        try:
            told = ask(wanted).text
        except ToolError as error:
            told = str(error)
        assert "truth" not in told
        assert "secret.txt (" not in told
        assert "root:" not in told
    assert places(project.search_code("needle")) == []
    assert "secret" not in project.list_files().text


def test_links_inside_the_folder_and_its_own_absolute_path_are_fine(write: Write, project: Project) -> None:
    root = write("src/real.py", "needle = 1\n").parent.parent
    (root / "alias.py").symlink_to("src/real.py")
    assert project.read_file("alias.py").text.startswith("src/real.py, lines")
    assert project.read_file(str(root / "src" / "real.py")).text.startswith("src/real.py, lines")
    assert project.read_file("src/../src/./real.py").text.startswith("src/real.py, lines")
    assert project.read_file("src\\real.py").text.startswith("src/real.py, lines")
    assert places(project.search_code("needle")) == ["src/real.py:1"]


@pytest.mark.guarantee("G8")
def test_a_link_put_in_place_between_the_check_and_the_opening_is_not_followed(
    write: Write, outside: Path, tmp_path: Path
) -> None:
    root = write("src/a.txt", "fine\n").parent.parent
    folder = Folder(root)
    checked = folder.inside("src/a.txt")
    (root / "src" / "a.txt").unlink()
    (root / "src" / "a.txt").symlink_to(outside)
    with pytest.raises(ToolError, match="cannot be opened"):
        folder.read(checked, most_bytes=1_000)
    shutil.rmtree(root / "src")
    (root / "src").symlink_to(outside.parent)
    with pytest.raises(ToolError, match="cannot be opened"):
        folder.read("src/secret.txt", most_bytes=1_000)


def test_pipes_sockets_and_devices_do_not_hang_anything(write: Write, project: Project) -> None:
    root = write("a.py", "needle\n").parent
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()
        os.chdir(root)  # the path of a socket must be short
        try:
            bound.bind("socket.py")
        finally:
            os.chdir(here)
        assert places(project.search_code("needle")) == ["a.py:1"]
        assert "pipe.py" not in project.list_files().text
        for path in ("pipe.py", "socket.py"):
            with pytest.raises(ToolError, match=r"is not a file|cannot be opened"):
                project.read_file(path)


def test_names_that_are_no_text_are_passed_over(write: Write, project: Project) -> None:
    root = os.fsencode(write("a.py", "needle\n").parent)
    with open(os.path.join(root, b"\xff\xfe.py"), "w") as file:
        file.write("needle\n")
    assert places(project.search_code("needle")) == ["a.py:1"]


def test_very_deep_trees_are_cut_off_not_fallen_into(write: Write, project: Project) -> None:
    write("/".join(["d"] * 200) + "/deep.py", "needle\n")
    write("/".join(["d"] * 20) + "/high.py", "needle\n")
    assert places(project.search_code("needle")) == ["/".join(["d"] * 20) + "/high.py:1"]


def test_a_file_that_grows_while_it_is_read_is_read_up_to_the_cap(write: Write) -> None:
    file = write("a.txt", "x" * 100)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        assert folder_module._read_all(descriptor, 10) == b"x" * 10  # pyright: ignore[reportPrivateUsage]
    finally:
        os.close(descriptor)


def test_no_descriptor_is_lost(write: Write, project: Project) -> None:
    project.search_code("x")
    before = open_files()
    for path in ("login.py", "../x", "nothing", "src"):
        try:
            project.read_file(path)
        except ToolError:
            continue
    project.search_code("log_in")
    project.list_files()
    assert open_files() == before


@pytest.mark.parametrize("kind", ["missing", "file", "nul"])
def test_a_folder_that_is_none_is_refused_when_the_tools_are_made(kind: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = {"missing": str(tmp_path / "nowhere"), "file": str(tmp_path / "file"), "nul": "a\0b"}[kind]
    with pytest.raises(InvalidValueError, match=r"folder is .* a folder that exists and can be read"):
        project_tools(folder)
    with pytest.raises(InvalidValueError, match="vault is"):
        project_tools(tmp_path, vault=folder)


def test_on_a_real_tree_symbols_are_found_where_they_are_defined(tmp_path: Path) -> None:
    shutil.copytree(Path(endstop.__file__).parent, tmp_path / "endstop")
    project = Project(tmp_path)
    for query, path in {
        "Governor": "endstop/kernel/governor.py",
        "class Ledger": "endstop/kernel/ledger.py",
        "upper_bound": "endstop/kernel/bounds.py",
        "RepeatedChunk": "endstop/kernel/detectors/streamed_text.py",
        "parse_reply": "endstop/signals/parse.py",
        "UnknownToolError": "endstop/errors.py",
        "def is_secret(": "endstop/tools/processes.py",
    }.items():
        found: list[Any] = places(project.search_code(query))
        assert path in [place.rpartition(":")[0] for place in found[:2]], (query, found)
