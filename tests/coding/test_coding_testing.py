"""The project's tests: which command runs them, and what came of them. All of them really run."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from endstop.coding import finding_tests
from endstop.coding.finding_tests import TestCommand, find_test_command
from endstop.coding.junit import MOST_NAMED, read_report
from endstop.coding.testing import MOST_OUTPUT_CHARS, project_environment, run_tests, told
from endstop.errors import InvalidValueError
from endstop.events.coding import TestsRun
from endstop.tools.confinement import Confinement

PYTEST = TestCommand(words=(sys.executable, "-m", "pytest"), is_pytest=True)
OURS = (sys.executable, "-m", "pytest")


def project(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def program(path: Path, text: str = "true") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


async def run(
    folder: Path, files: dict[str, str], command: TestCommand = PYTEST, seconds: float = 60
) -> TestsRun:
    confinement = Confinement(project(folder, files))
    return await run_tests(command, confinement, round=2, after="building", seconds=seconds)


# ── finding the command ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": ""},
        {"conftest.py": ""},
        {"pyproject.toml": "[tool.pytest.ini_options]\n"},
        {"setup.cfg": "[tool:pytest]\n"},
        {"tox.ini": "[pytest]\n"},
        {"pyproject.toml": "[project]\n", "tests/deep/test_it.py": ""},
        {"pkg/it_test.py": ""},
        {"pyproject.toml": "[project]\n"},
        {"only/code.py": ""},
        {"pytest.ini": "", "package.json": '{"scripts": {"test": "jest"}}', "Makefile": "test:\n"},
        {"pyproject.toml": "", "test_a.py": "", "Makefile": "test:\n"},
    ],
)
def test_a_python_project_is_tested_with_pytest(tmp_path: Path, files: dict[str, str]) -> None:
    found = find_test_command(project(tmp_path, files))
    assert found is not None
    assert (found.words, found.is_pytest) == (OURS, True)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"package.json": '{"scripts": {"test": "jest"}}'}, ("npm", "test")),
        ({"package.json": '{"scripts": {"test": "jest"}}', "yarn.lock": ""}, ("yarn", "test")),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, ("pnpm", "test")),
        ({"package.json": '{"scripts": {"test": "jest"}}', "scripts/test_x.py": ""}, ("npm", "test")),
        ({"Cargo.toml": ""}, ("cargo", "test")),
        ({"go.mod": ""}, ("go", "test", "./...")),
        ({"Makefile": "all:\n\ntest: all\n\techo\n"}, ("make", "test")),
        ({"Makefile": "test:\n", "tool.py": ""}, ("make", "test")),
    ],
)
def test_other_projects_have_commands_of_their_own(
    tmp_path: Path, files: dict[str, str], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("npm", "yarn", "pnpm", "cargo", "go", "make"):
        program(tmp_path / "programs" / name)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    found = find_test_command(project(tmp_path / "project", files))
    assert found is not None
    assert (found.words, found.is_pytest) == (words, False)
    assert found.readable == (tmp_path / "programs",)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "text"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": '{"scripts": {"test": 7}}'},
        {"package.json": '{"scripts": []}'},
        {"package.json": "[]"},
        {"package.json": "not json"},
        {"package.json": "[" * 100_000},
        {"Makefile": "test := 1\nall:\n"},
        {"Makefile": "test:\n" + "#" * 1_000_001},
        {"node_modules/x/test_x.py": ""},
    ],
)
def test_where_nothing_speaks_of_tests_there_is_no_command(tmp_path: Path, files: dict[str, str]) -> None:
    assert find_test_command(project(tmp_path, files)) is None


@pytest.mark.parametrize(
    ("text", "words", "is_pytest"),
    [
        ("pytest -x 'a b'", ("pytest", "-x", "a b"), True),
        ("py.test", ("py.test",), True),
        ("pytest -k 'a or (b)'", ("pytest", "-k", "a or (b)"), True),
        ('pytest "$HOME"', ("/bin/sh", "-c", 'pytest "$HOME"'), False),
        ("python3 -m pytest tests", ("python3", "-m", "pytest", "tests"), True),
        ("python3 -m unittest", ("python3", "-m", "unittest"), False),
        ("uv run pytest", ("uv", "run", "pytest"), True),
        ("uv run", ("uv", "run"), False),
        ("uv sync", ("uv", "sync"), False),
        ("make pytest", ("make", "pytest"), False),
        ("cd sub && pytest", ("/bin/sh", "-c", "cd sub && pytest"), False),
        ("FAST=1 pytest", ("/bin/sh", "-c", "FAST=1 pytest"), False),
    ],
)
def test_the_configured_command_wins(
    tmp_path: Path, text: str, words: tuple[str, ...], is_pytest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pytest", "py.test", "python3", "uv", "make"):
        program(tmp_path / "programs" / name)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    found = find_test_command(project(tmp_path / "project", {"Cargo.toml": ""}), text)
    assert found is not None
    assert (found.words, found.is_pytest) == (words, is_pytest)


def test_a_program_of_the_project_itself_can_be_configured(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "check")
    found = find_test_command(tmp_path, "bin/check --all")
    assert found == TestCommand(words=("bin/check", "--all"))
    assert TestCommand(words=("bin/check", "a b")).text == "bin/check 'a b'"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no-such-runner -x", "'no-such-runner'.*installed.*Install no-such-runner, or set tests.command"),
        ("./nowhere.sh", "nowhere"),
        ("pytest 'open", "cannot be read: No closing quotation"),
        ("   ", "tests.command is '   '"),
    ],
)
def test_a_command_that_cannot_run_is_refused_before_anything_is_spent(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(InvalidValueError, match=words):
        find_test_command(tmp_path, text)


def test_a_program_that_is_found_but_not_installed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidValueError, match="Install cargo, or set"):
        find_test_command(project(tmp_path, {"Cargo.toml": ""}))


def test_the_virtual_environment_of_the_repository_is_used(tmp_path: Path) -> None:
    repository, worktree = tmp_path / "repository", project(tmp_path / "worktree", {"pytest.ini": ""})
    python = program(repository / ".venv" / "bin" / "python")
    (repository / ".venv" / "pyvenv.cfg").touch()
    without = find_test_command(worktree, repository=repository)
    assert without is not None
    assert without.words == OURS
    project(repository, {".venv/lib/python3.12/site-packages/pytest/__init__.py": ""})
    found = find_test_command(worktree, repository=repository)
    assert found is not None
    assert found.words == (str(python), "-m", "pytest")
    assert found.readable == (repository / ".venv",)


def test_a_configured_program_of_the_virtual_environment_is_found_and_comes_first(tmp_path: Path) -> None:
    repository, worktree = tmp_path / "repository", project(tmp_path / "worktree", {"x.py": ""})
    program(repository / "venv" / "bin" / "python")
    program(repository / "venv" / "bin" / "our-runner")
    (repository / "venv" / "pyvenv.cfg").touch()
    found = find_test_command(worktree, "our-runner -x", repository=repository)
    assert found is not None
    assert (found.words, found.readable) == (("our-runner", "-x"), (repository / "venv",))
    assert found.environment["PATH"].startswith(f"{repository}/venv/bin:/")
    with pytest.raises(InvalidValueError, match="Install our-runner"):
        find_test_command(worktree, "our-runner -x")


async def test_the_configured_program_is_really_run(tmp_path: Path) -> None:
    repository, worktree = tmp_path / "repository", project(tmp_path / "worktree", {"x.py": ""})
    program(repository / "venv" / "bin" / "python")
    program(repository / "venv" / "bin" / "our-runner", "echo ours; pwd")
    for text in ("our-runner -x", "true && our-runner"):
        command = find_test_command(worktree, text, repository=repository)
        assert command is not None
        done = await run_tests(command, Confinement(worktree), round=1, after="building", seconds=20)
        assert (done.exit_code, done.output) == (0, f"ours\n{worktree}")


def test_a_command_that_was_found_is_found_again_by_its_words(tmp_path: Path) -> None:
    program(tmp_path / ".venv" / "bin" / "python")
    files = {".venv/pyvenv.cfg": "", ".venv/lib/python3.12/site-packages/pytest/__init__.py": "", "x.py": ""}
    first = find_test_command(project(tmp_path, files))
    assert first is not None
    assert first.readable == (tmp_path / ".venv",)
    assert find_test_command(tmp_path, first.text) == first
    ours = find_test_command(project(tmp_path / "other", {"x.py": ""}))
    assert ours is not None
    assert find_test_command(tmp_path / "other", ours.text) == ours


def test_without_pytest_of_our_own_the_installed_python_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree = project(tmp_path / "worktree", {"pytest.ini": ""})

    def not_found(name: str) -> None:
        return None

    monkeypatch.setattr(finding_tests.importlib.util, "find_spec", not_found)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(InvalidValueError, match="pytest is not installed"):
        find_test_command(worktree)
    python = program(tmp_path / "bin" / "python3", "exit 1")
    with pytest.raises(InvalidValueError, match="pytest is not installed"):
        find_test_command(worktree)
    python.write_bytes(b"\x7fELF nonsense")
    with pytest.raises(InvalidValueError, match="pytest is not installed"):
        find_test_command(worktree)
    program(python, "exit 0")
    found = find_test_command(worktree)
    assert found is not None
    assert found.words == (str(python), "-m", "pytest")


# ── running them ─────────────────────────────────────────────────────────────────────────────────────────

MIXED = {
    "tests/test_x.py": (
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 1 == 2\n"
        "@pytest.mark.parametrize('n', ['a b', '::'])\n"
        "def test_each(n): pass\n"
        "@pytest.mark.skip\n"
        "def test_later(): pass\n"
        "class TestGroup:\n"
        "    def test_inner(self): assert False\n"
    )
}


@pytest.mark.guarantee("G8")
async def test_the_tests_really_run_and_are_named_as_people_know_them(tmp_path: Path) -> None:
    done = await run(tmp_path, MIXED)
    assert (done.round, done.after, done.command) == (2, "building", PYTEST.text)
    assert (done.exit_code, done.passed, done.failed, done.are_green) == (1, 3, 2, False)
    assert done.failing == ("tests/test_x.py::test_bad", "tests/test_x.py::TestGroup::test_inner")
    assert done.passing == (
        "tests/test_x.py::test_good",
        "tests/test_x.py::test_each[a b]",
        "tests/test_x.py::test_each[::]",
    )
    assert "assert 1 == 2" in done.output
    assert done.seconds > 0


@pytest.mark.thorough
async def test_green_is_green_and_the_worktree_stays_clean(tmp_path: Path) -> None:
    files = {
        "src/mod.py": "def one(): return 1\n",
        "test_it.py": "import mod\ndef test_it(): assert mod.one()\n",
    }
    done = await run(tmp_path, files)
    assert (done.are_green, done.exit_code, done.passed, done.failed) == (True, 0, 1, 0)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(files)


@pytest.mark.thorough
async def test_the_code_of_the_worktree_is_tested_and_not_what_is_installed(tmp_path: Path) -> None:
    files = {
        "src/endstop/__init__.py": "MINE = True\n",
        "test_it.py": "import endstop\ndef test_it(): assert endstop.MINE\n",
    }
    assert (await run(tmp_path, files)).are_green


def test_where_there_is_no_src_only_the_folder_is_looked_in(tmp_path: Path) -> None:
    assert project_environment(tmp_path)["PYTHONPATH"] == str(tmp_path)


@pytest.mark.thorough
async def test_settings_of_the_project_that_know_no_cache_do_no_harm(tmp_path: Path) -> None:
    settings = (
        "[pytest]\naddopts = -p no:cacheprovider -p no:asyncio --strict-config\nfilterwarnings = error\n"
    )
    done = await run(tmp_path, {"pytest.ini": settings, "test_it.py": "def test_it(): pass\n"})
    assert done.are_green, done.output


@pytest.mark.thorough
@pytest.mark.parametrize("files", [{"code.py": ""}, {"test_empty.py": ""}])
async def test_no_tests_are_not_green(tmp_path: Path, files: dict[str, str]) -> None:
    done = await run(tmp_path, files)
    assert (done.are_green, done.exit_code) == (False, 5)
    assert "No tests were collected." in done.output


@pytest.mark.thorough
async def test_no_tests_are_not_green_even_if_the_project_says_so(tmp_path: Path) -> None:
    hook = "def pytest_sessionfinish(session): session.exitstatus = 0\n"
    done = await run(tmp_path, {"conftest.py": hook, "test_empty.py": ""})
    assert (done.are_green, done.exit_code) == (False, 5)


@pytest.mark.thorough
async def test_a_file_that_cannot_be_collected_is_named(tmp_path: Path) -> None:
    done = await run(tmp_path, {"tests/test_x.py": "import nowhere\n"})
    assert not done.are_green
    assert done.failing == ("tests/test_x.py",)


@pytest.mark.thorough
@pytest.mark.guarantee("G8", "A11")
async def test_tests_that_hang_are_killed_in_time(tmp_path: Path) -> None:
    files = {"test_it.py": "import time\nprint('begun', flush=True)\ndef test_it(): time.sleep(600)\n"}
    done = await run(tmp_path, files, seconds=3)
    assert (done.timed_out, done.are_green, done.failures) == (True, False, 1)
    assert done.seconds < 3 + 2
    assert done.output.endswith("[The tests did not end within 3 s, and were killed.]")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "test",
    ["import os\ndef test_it(): os._exit(0)\n", "import os\nos._exit(0)\n"],
    ids=["in a test", "at import"],
)
async def test_a_process_that_ends_with_0_before_it_is_through_is_not_green(
    tmp_path: Path, test: str
) -> None:
    done = await run(tmp_path, {"test_it.py": test})
    assert (done.are_green, done.exit_code) == (False, 1)
    assert "before it was through" in done.output


@pytest.mark.thorough
async def test_an_exit_code_that_the_report_does_not_bear_out_is_not_green(tmp_path: Path) -> None:
    hook = "def pytest_sessionfinish(session): session.exitstatus = 0\n"
    done = await run(tmp_path, {"conftest.py": hook, "test_it.py": "def test_it(): assert False\n"})
    assert (done.are_green, done.exit_code, done.failed) == (False, 1, 1)
    assert "the report has failing tests" in done.output


SPOIL = """
import atexit, os, pytest
def pytest_configure(config):
    path = config.getoption("xmlpath")
    def spoil():
        {}
    atexit.register(spoil)
"""


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param("open(path, 'w').write('<testsuites>')", id="cut off", marks=pytest.mark.thorough),
        pytest.param("open(path, 'w').write('<!DOCTYPE x [<!ENTITY a \"b\">]><testsuites/>')", id="entities"),
        pytest.param("open(path, 'w').write('<html/>')", id="no report", marks=pytest.mark.thorough),
        pytest.param("os.truncate(path, 21_000_000)", id="huge", marks=pytest.mark.thorough),
        pytest.param("os.remove(path); os.mkfifo(path)", id="fifo"),
        pytest.param("os.remove(path); os.mkdir(path)", id="folder", marks=pytest.mark.thorough),
        pytest.param("os.remove(path); os.symlink(__file__, path)", id="link", marks=pytest.mark.thorough),
        pytest.param("os.remove(path); os.symlink('/dev/zero', path)", id="device"),
    ],
)
async def test_a_report_that_cannot_be_read_leaves_the_exit_code(tmp_path: Path, spoil: str) -> None:
    done = await run(
        tmp_path, {"conftest.py": SPOIL.format(spoil), "test_it.py": "def test_it(): assert True\n"}
    )
    assert (done.exit_code, done.passed, done.failed, done.failing) == (0, None, None, ())


async def test_another_command_has_its_exit_code_only(tmp_path: Path) -> None:
    done = await run(tmp_path, {}, TestCommand(words=("/bin/sh", "-c", "echo fine; exit 5")))
    assert (done.exit_code, done.passed, done.failed, done.output) == (5, None, None, "fine")


@pytest.mark.thorough
async def test_pytest_is_known_also_when_another_command_calls_it(tmp_path: Path) -> None:
    command = TestCommand(words=("/bin/sh", "-c", f"cd sub && {PYTEST.text}"))
    done = await run(tmp_path, {"sub/test_x.py": "def test_y(): pass\n", "sub/pytest.ini": ""}, command)
    assert (done.are_green, done.passed, done.passing) == (True, 1, ("test_x::test_y",))


async def test_of_the_output_the_end_is_kept(tmp_path: Path) -> None:
    command = TestCommand(words=("/bin/sh", "-c", "seq 1 5000; printf '\\000end'"))
    done = await run(tmp_path, {}, command)
    assert len(done.output) == MOST_OUTPUT_CHARS
    assert done.output.startswith("[...]\n")
    assert done.output.endswith("5000\n\ufffdend")


@pytest.mark.thorough
async def test_a_virtual_environment_outside_the_worktree_can_be_used(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    shutil.copytree(Path(sys.prefix) / "bin", repository / ".venv" / "bin", symlinks=True)
    (repository / ".venv" / "lib").symlink_to(Path(sys.prefix) / "lib")
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", repository / ".venv")
    worktree = project(
        tmp_path / "worktree", {"test_it.py": "import sys\ndef test_it(): print(sys.prefix)\n"}
    )
    command = find_test_command(worktree, repository=repository)
    assert command is not None
    done = await run_tests(command, Confinement(worktree), round=1, after="building", seconds=60)
    assert done.command.startswith(str(repository / ".venv" / "bin" / "python"))
    assert done.are_green, done.output


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_name_that_is_no_path_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x.py").touch()
    xml = (
        '<testsuite><testcase classname="/etc/x" name="a"/><testcase classname="..x" name="b"/>'
        '<testcase classname="gone.away" name="c"/><testcase classname="x.T" name="d"/><testcase/>'
        "</testsuite>"
    )
    report = read_report(xml.encode(), tmp_path)
    assert report is not None
    assert report.passing == ("/etc/x::a", "..x::b", "gone.away::c", "x.py::T::d", "")


def test_a_test_reported_twice_counts_once_with_the_worst(tmp_path: Path) -> None:
    case = '<testcase classname="x" name="a">{}</testcase>'
    cases = [case.format(inner) for inner in ("<error/>", "", "<skipped/>")]
    report = read_report(f"<testsuite>{''.join(cases)}</testsuite>".encode(), tmp_path)
    assert report is not None
    assert (report.passed, report.failed, report.skipped, report.failing) == (0, 1, 0, ("x::a",))


def test_names_are_counted_but_only_so_many_are_kept(tmp_path: Path) -> None:
    many = "".join(f'<testcase classname="x" name="{n}{"y" * 400}"/>' for n in range(1_000))
    report = read_report(f"<testsuite>{many}</testsuite>".encode(), tmp_path)
    assert report is not None
    assert (report.passed, len(report.passing), max(map(len, report.passing))) == (1_000, MOST_NAMED, 300)


def test_a_report_cannot_have_us_look_for_files_all_day(tmp_path: Path) -> None:
    many = "".join(f'<testcase classname="a{n}{".b" * 100}" name="t"/>' for n in range(50_000))
    before = time.perf_counter()
    report = read_report(f"<testsuite>{many}</testsuite>".encode(), tmp_path)
    assert time.perf_counter() - before < 5
    assert report is not None
    assert report.passed == 50_000


def test_entities_that_grow_are_refused(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE x [<!ENTITY e0 "boom">{levels}]><testsuite><testcase name="&e9;"/></testsuite>'
    assert read_report(bomb.encode(), tmp_path) is None


# ── in words ─────────────────────────────────────────────────────────────────────────────────────────────


def ended(**values: object) -> TestsRun:
    given: dict[str, object] = {"round": 1, "after": "", "command": "pytest", "exit_code": 0, "seconds": 1.25}
    return TestsRun(**{**given, **values})  # pyright: ignore[reportArgumentType] - a short hand


def test_a_model_is_told_how_the_tests_ended() -> None:
    run = ended(exit_code=1, passed=3, failed=2, failing=("a::b", "a::c"), output="E  assert 1 == 2")
    assert told(run) == (
        "The tests do not pass (exit code 1, 1.2 s). 3 passed, 2 failed.\n"
        "Command: pytest\n"
        "Failing tests:\n"
        "- a::b\n"
        "- a::c\n"
        "The end of the output:\n"
        "E  assert 1 == 2"
    )


def test_a_model_is_told_that_they_pass_or_took_too_long() -> None:
    assert told(ended()) == "The tests pass (exit code 0, 1.2 s).\nCommand: pytest\nThere was no output."
    late = told(ended(exit_code=-9, seconds=300.2, timed_out=True))
    assert late.startswith("The tests did not end in time (300 s) and were killed.")


def test_not_all_failing_tests_are_told_when_there_are_very_many() -> None:
    run = ended(exit_code=1, failed=60, failing=tuple(f"a::{n}" for n in range(60)))
    assert "- a::49\n- and 10 more\n" in told(run)
