"""Which command runs the tests of a project: the one it was told, or the one its files speak of."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast

from endstop.errors import InvalidValueError, ToolError
from endstop.tools.project.folder import Folder
from endstop.tools.project.glob import matches
from endstop.tools.project.walk import Walker
from endstop.tools.visible import outermost, program_folders

FIELD = "tests.command"

_MOST_BYTES = 1_000_000
_SHELL_SIGNS = frozenset(";&|<>()`$*?\n")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_ASSIGNMENT = re.compile(r"\w+=")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*\Z")
_RUNNERS = ("uv", "poetry", "pdm", "hatch", "rye", "pipenv")
_PYTEST_SETTINGS = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "conftest.py": "",
    "pyproject.toml": "[tool.pytest",
    "setup.cfg": "[tool:pytest]",
    "tox.ini": "[pytest]",
}
_PYTHON_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini")
_TEST_FILES = ("test_*.py", "*_test.py", "conftest.py")
_PACKAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn"}
_NPM_HAS_NO_TESTS = "no test specified"
_MAKE_TEST = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PROBE_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCommand:
    """How the tests of a project are run."""

    __test__ = False  # not for pytest to collect

    words: tuple[str, ...]
    is_pytest: bool = False
    readable: tuple[Path, ...] = ()
    """What it needs to see beside the project: the virtual environment and the interpreter it is made of."""
    programs: Path | None = None
    """Where the project's own programs are, such as ``.venv/bin``: they come before all others."""

    @property
    def text(self) -> str:
        """As one would type it."""
        return shlex.join(self.words)

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for all commands of the project: the programs that run its tests come first."""
        return {} if self.programs is None else {"PATH": _path_with(self.programs)}


def find_test_command(
    folder: str | Path, configured: str | None = None, *, repository: str | Path | None = None
) -> TestCommand | None:
    """The test command of the project in ``folder``, None if nothing there speaks of tests.

    ``repository`` is the user's own tree: its virtual environment is not in a worktree. Refuses a command
    that cannot be run, before anything is spent on it.
    """
    root = Path(folder).resolve()
    homes = [root] if repository is None else [Path(repository).resolve(), root]
    if configured is not None:
        return _configured(configured, root, homes)
    files = _Files(root)
    if files.has_python_tests():
        return _pytest(homes)
    words = files.other_command()
    if words is not None:
        return _with_programs(words, root, homes)
    return _pytest(homes) if files.is_python() else None


class _Files:
    """What the files of a project say."""

    def __init__(self, root: Path) -> None:
        self._folder = Folder(root)
        self._paths = [one.path for one in Walker(self._folder).files()]
        self._at_root = {path for path in self._paths if "/" not in path}

    def has_python_tests(self) -> bool:
        """Whether it is set up for pytest; or is a Python project, and has tests somewhere."""
        for name, words in _PYTEST_SETTINGS.items():
            if name in self._at_root and words in self._text(name):
                return True
        is_project = any(name in self._at_root for name in _PYTHON_PROJECT)
        return is_project and any(matches(path, one) for path in self._paths for one in _TEST_FILES)

    def is_python(self) -> bool:
        """Whether it is made of Python, be it without tests so far."""
        return any(path.endswith(".py") for path in self._paths) or any(
            name in self._at_root for name in _PYTHON_PROJECT
        )

    def other_command(self) -> tuple[str, ...] | None:
        if "package.json" in self._at_root and self._has_test_script():
            packager = next((one for lock, one in _PACKAGERS.items() if lock in self._at_root), "npm")
            return packager, "test"
        if "Cargo.toml" in self._at_root:
            return "cargo", "test"
        if "go.mod" in self._at_root:
            return "go", "test", "./..."
        makefile = next((name for name in _MAKEFILES if name in self._at_root), None)
        if makefile is not None and _MAKE_TEST.search(self._text(makefile)):
            return "make", "test"
        return None

    def _has_test_script(self) -> bool:
        try:
            package: Any = json.loads(self._text("package.json"))
        except (ValueError, RecursionError):
            return False
        scripts: Any = cast("dict[str, Any]", package).get("scripts") if isinstance(package, dict) else None
        test: Any = cast("dict[str, Any]", scripts).get("test") if isinstance(scripts, dict) else None
        return isinstance(test, str) and bool(test.strip()) and _NPM_HAS_NO_TESTS not in test

    def _text(self, path: str) -> str:
        try:
            return self._folder.read(path, most_bytes=_MOST_BYTES).decode(errors="replace")
        except ToolError:
            return ""


def _configured(text: str, root: Path, homes: Sequence[Path]) -> TestCommand:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InvalidValueError(
            FIELD, text, allowed="a command as you would type it", to_do=f"It cannot be read: {error}"
        ) from error
    if not words:
        raise InvalidValueError(FIELD, text, allowed="a command, such as: pytest -x")
    if _SHELL_SIGNS & set(_QUOTED.sub("", text)) or _ASSIGNMENT.match(words[0]):
        return _with_programs(("/bin/sh", "-c", text), root, homes)
    return _with_programs(words, root, homes)


def _is_pytest(words: Sequence[str]) -> bool:
    program, *others = [PurePosixPath(words[0]).name, *words[1:]]
    if program in _RUNNERS and others[:1] == ["run"]:
        return len(others) > 1 and _is_pytest(others[1:])
    return program in ("pytest", "py.test") or (
        _PYTHON.match(program) is not None and others[:2] == ["-m", "pytest"]
    )


def _with_programs(words: tuple[str, ...], root: Path, homes: Sequence[Path]) -> TestCommand:
    """The command with what it needs to see; an error if there is no program of that name."""
    program = words[0]
    is_python = program.startswith("/") and _PYTHON.match(PurePosixPath(program).name) is not None
    python = Path(program) if is_python else next(_own_pythons(homes), None)
    programs = None if python is None else python.parent
    found = shutil.which(str(root / program) if "/" in program else program, path=_path_with(programs))
    if found is None:
        raise InvalidValueError(
            FIELD,
            program,
            allowed="a program that is installed, by its name or its path",
            to_do=f"Install {program}, or set {FIELD} in the policy to another command",
        )
    is_in_project = "/" in program and not program.startswith("/")  # it is seen anyway
    needed = [*([] if is_in_project else [Path(found)]), *([] if python is None else [python])]
    return TestCommand(
        words=words,
        is_pytest=_is_pytest(words),
        readable=outermost(folder for one in needed for folder in program_folders(one)),
        programs=programs,
    )


def _path_with(programs: Path | None) -> str:
    path = os.environ.get("PATH", os.defpath)
    return path if programs is None else f"{programs}{os.pathsep}{path}"


def _own_pythons(homes: Sequence[Path]) -> Iterator[Path]:
    """The interpreters of the project's virtual environments."""
    for python in (home / name / "bin" / "python" for home in homes for name in (".venv", "venv")):
        if os.access(python, os.X_OK):
            yield python


def _pytest(homes: Sequence[Path]) -> TestCommand:
    """With the project's own interpreter, then the one we run in, then whichever is installed."""
    for python in filter(_has_pytest, _own_pythons(homes)):
        return _run_by(python)
    if importlib.util.find_spec("pytest") is not None:
        return _run_by(Path(sys.executable))
    found = shutil.which("python3")
    if found is not None and _imports_pytest(found):
        return _run_by(Path(found))
    raise InvalidValueError(
        FIELD,
        None,
        allowed="a command whose program is installed",
        to_do="pytest is not installed: install it into .venv of the repository, or set "
        f"{FIELD} in the policy to the command that runs the tests",
    )


def _run_by(python: Path) -> TestCommand:
    return TestCommand(
        words=(str(python), "-m", "pytest"),
        is_pytest=True,
        readable=program_folders(python),
        programs=python.parent,
    )


def _has_pytest(python: Path) -> bool:
    """Whether a virtual environment has it: looked up, as asking it would run what is in there."""
    return any(python.parent.parent.glob("lib/python*/site-packages/pytest/__init__.py"))


def _imports_pytest(python: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", "import pytest"], capture_output=True, timeout=_PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
