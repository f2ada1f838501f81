"""Writes docs/reference/guarantees.md: each promise with the tests that prove it.

Promises come from docs/reference/promises.toml, proofs from ``@pytest.mark.guarantee("A3")`` in the tests. A
test that names a promise nobody made is an error; a promise that no test names is shown as not proven, and
one listed under ``in_part`` with what its tests do not prove yet.

    python scripts/guarantees.py            write the page
    python scripts/guarantees.py --check    fail if the page is not as it would be written
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from generated_page import ROOT, write_or_check

PROMISES = ROOT / "docs" / "reference" / "promises.toml"
PAGE = ROOT / "docs" / "reference" / "guarantees.md"


def named_promises(path: Path) -> Iterator[tuple[str, str]]:
    """Each (promise, test) that a test file names with the marker, on functions, classes or the module."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    for_all = [number for node in module.body for number in _module_marks(node)]
    for function in ast.walk(module):
        is_function = isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        if not is_function or not function.name.startswith("test"):
            continue
        marked = [number for decorator in function.decorator_list for number in _marks(decorator)]
        for number in (*for_all, *marked):
            yield number, function.name
    for machine in (node for node in module.body if isinstance(node, ast.Assign)):
        # A Hypothesis state machine is a test by assignment: TestLedger = Machine.TestCase, marked below it.
        targets = [target.id for target in machine.targets if isinstance(target, ast.Name)]
        for number in _marks(machine.value):
            for name in (target for target in targets if target != "pytestmark"):
                yield number, name


def _module_marks(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
    ):
        yield from _marks(node.value)


def _marks(node: ast.expr) -> Iterator[str]:
    """The promises named by every ``pytest.mark.guarantee(...)`` inside an expression."""
    for call in ast.walk(node):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "guarantee"
        ):
            for argument in call.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def proofs() -> dict[str, list[str]]:
    """The tests that prove each promise, as ``tests/…/test_x.py::test_y``."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for number, test in named_promises(path):
            found[number].add(f"{path.relative_to(ROOT).as_posix()}::{test}")
    return {number: sorted(tests) for number, tests in found.items()}


def page() -> str:
    """The whole page, as text."""
    rooms: dict[str, dict[str, str]] = tomllib.loads(PROMISES.read_text(encoding="utf-8"))
    in_part = rooms.pop("in_part")
    proven = proofs()
    known = {number for room in rooms.values() for number in room if number != "title"}
    strangers = {number: proven[number] for number in proven if number not in known}
    if not in_part.keys() <= known:
        sys.exit(f"In part, but never promised: {in_part.keys() - known}.")
    if strangers:
        sys.exit(f"Tests name promises that nobody made: {strangers}. Mend the marker, or add the promise.")
    whole = len((known & proven.keys()) - in_part.keys())
    part = len(known & proven.keys() & in_part.keys())
    lines = [
        "# Guarantees",
        "",
        "<!-- Written by scripts/guarantees.py from promises.toml and the tests. Do not edit. -->",
        "",
        "What Endstop promises, and the tests that prove it. A promise that no test proves yet says so, and",
        "one that is proven only in part says what is missing. Every test named here runs in `make test`.",
        "",
        f"**Of {len(known)} promises, {whole} are proven by tests, {part} in part, "
        f"{len(known) - whole - part} not yet.**",
    ]
    for letter, room in rooms.items():
        lines += ["", f"## {letter}. {room['title']}"]
        for number, words in room.items():
            if number == "title":
                continue
            lines += ["", f"### {number}", "", words, ""]
            tests = proven.get(number)
            if tests is None:
                lines.append("*Not proven yet: no test names it.*")
                continue
            if number in in_part:
                lines += [f"*Proven in part.* {in_part[number]}", ""]
            lines.append(f"<details><summary>Proven by {len(tests)} test{'s' * (len(tests) != 1)}</summary>")
            lines += ["", *(f"- `{test}`" for test in tests), "", "</details>"]
    return "\n".join(lines) + "\n"


def main() -> None:
    write_or_check(PAGE, page())


if __name__ == "__main__":
    main()
