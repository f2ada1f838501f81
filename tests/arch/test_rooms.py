"""The rules of the house that a linter does not see."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import endstop

SRC = Path(endstop.__file__).parent
PURE_ROOMS = ("kernel", "signals", "events")
ALLOWED_IN_PURE_ROOMS = {
    "__future__",
    "abc",
    "collections",
    "dataclasses",
    "decimal",
    "difflib",
    "endstop",
    "enum",
    "functools",
    "hashlib",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "types",
    "typing",
    "unicodedata",
}


def imports(path: Path) -> set[str]:
    """The top-level packages that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "endstop").split(".")[0])
    return found


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_the_pure_rooms_import_only_what_cannot_wait_or_look_outside(room: str) -> None:
    strangers = {
        path.relative_to(SRC).as_posix(): sorted(imports(path) - ALLOWED_IN_PURE_ROOMS)
        for path in (SRC / room).rglob("*.py")
    }
    assert {path: names for path, names in strangers.items() if names} == {}


def test_the_public_names_are_these() -> None:
    """Changing this list is changing the promise to users: say so in the changelog."""
    assert endstop.__all__ == sorted(endstop.__all__)
    assert set(endstop.__all__) == {
        *(
            "Abandoned",
            "Agent",
            "AgentConfig",
            "AgentState",
            "Run",
            "resume",
            "run",
            "tool",
            "Approved",
            "Audit",
            "AwaitingUser",
            "Budget",
        ),
        *("Cancelled", "Completed", "DefaultDecisionTree", "EndstopError", "Fact", "Failed", "Finding"),
        *("Forced", "Grant", "Guard", "NeedsChanges", "Rejected", "Stopped", "Thresholds", "UnderReview"),
        *("audit", "cost_usd", "decision_tree", "decode", "encode", "errors", "explain", "idle"),
        *("no_progress", "read_record", "seconds", "standard_detectors", "tokens", "turns", "upper_bound"),
    }
    for name in endstop.__all__:
        assert getattr(endstop, name) is not None


def test_importing_endstop_imports_no_third_party_and_nothing_slow() -> None:
    code = "import sys; before = set(sys.modules); import endstop; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "endstop" in loaded
    assert loaded - set(sys.stdlib_module_names) - {"endstop"} == set()
    assert not loaded & {"asyncio", "logging", "sqlite3", "ssl", "http", "urllib", "email", "multiprocessing"}


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda path: path.relative_to(SRC).as_posix())
def test_modules_stay_small_enough_to_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.guarantee("I7")
def test_every_error_is_drawn_in_the_tree_and_has_a_code_of_its_own() -> None:
    errors = [
        member
        for member in vars(endstop.errors).values()
        if isinstance(member, type) and issubclass(member, endstop.EndstopError)
    ]
    assert endstop.errors.__doc__ is not None
    for error in errors:
        assert error.__name__ in endstop.errors.__doc__
    assert len({error.code for error in errors}) == len(errors)


def test_the_public_names_are_shown_and_others_are_not_there() -> None:
    assert set(endstop.__all__) <= set(dir(endstop))
    with pytest.raises(AttributeError, match="no attribute 'Gaurd'"):
        _ = endstop.Gaurd  # type: ignore[attr-defined]
