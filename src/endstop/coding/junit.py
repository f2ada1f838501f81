"""The report that pytest writes: which tests there were, and how each ended.

It was written by a process that agents have a hand in, so it is read with care: no entities, no type
definitions, nothing that grows, and what cannot be read is no report.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from xml.parsers import expat

MOST_BYTES = 20_000_000
MOST_NAMED = 300
"""So many names of passing, and of failing tests are kept."""

_MOST_NAME_CHARS = 300
_MOST_LOOKED_UP, _MOST_STEPS = 10_000, 20
"""A report can be made up to have us look for files all day."""
_MODULE_STEP = re.compile(r"[\w-]+\Z")


class _Ending(IntEnum):
    """How a test ended; the worst counts when it is reported more than once."""

    PASSED = 0
    SKIPPED = 1
    FAILED = 2


_ENDINGS = {"failure": _Ending.FAILED, "error": _Ending.FAILED, "skipped": _Ending.SKIPPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """How the tests ended, by their names as people know them: ``tests/test_x.py::test_y``."""

    __test__ = False  # not for pytest to collect

    passed: int
    failed: int
    skipped: int
    passing: tuple[str, ...]
    failing: tuple[str, ...]


def read_report(content: bytes, folder: Path) -> TestReport | None:
    """The report; None if it cannot be read. ``folder`` is where the tests are."""
    reader = _Reader(folder)
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    try:
        parser.Parse(content[:MOST_BYTES], True)
    except (expat.ExpatError, _RefusedError):
        return None
    return reader.report() if reader.is_report else None


class _RefusedError(Exception):
    """There is a document type in it, which no honest report has."""


def _refuse(*_: object) -> None:
    raise _RefusedError


class _Reader:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, str] = {}
        self._endings: dict[str, _Ending] = {}
        self._test: str | None = None
        self._ending = _Ending.PASSED
        self.is_report = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in ("testsuites", "testsuite"):
            self.is_report = True
        elif tag == "testcase":
            name = self._node(attributes.get("classname", ""), attributes.get("name", ""))
            self._test, self._ending = name[:_MOST_NAME_CHARS], _Ending.PASSED
        elif tag in _ENDINGS:
            self._ending = max(self._ending, _ENDINGS[tag])

    def end(self, tag: str) -> None:
        if tag == "testcase" and self._test is not None:
            self._endings[self._test] = max(self._ending, self._endings.get(self._test, _Ending.PASSED))
            self._test = None

    def report(self) -> TestReport:
        by_ending = {
            ending: [test for test, one in self._endings.items() if one == ending] for ending in _Ending
        }
        return TestReport(
            passed=len(by_ending[_Ending.PASSED]),
            failed=len(by_ending[_Ending.FAILED]),
            skipped=len(by_ending[_Ending.SKIPPED]),
            passing=tuple(by_ending[_Ending.PASSED][:MOST_NAMED]),
            failing=tuple(by_ending[_Ending.FAILED][:MOST_NAMED]),
        )

    def _node(self, owner: str, name: str) -> str:
        """``tests.test_x.TestY`` and ``test_z`` are ``tests/test_x.py::TestY::test_z``.

        A file that could not be collected has no owner: its name is that of the module.
        """
        if not owner:
            return self._place(name)
        return f"{self._place(owner)}::{name}"

    def _place(self, dotted: str) -> str:
        if dotted not in self._files:
            self._files[dotted] = self._looked_up(dotted)
        return self._files[dotted]

    def _looked_up(self, dotted: str) -> str:
        steps = dotted.split(".")
        is_too_much = len(steps) > _MOST_STEPS or len(self._files) >= _MOST_LOOKED_UP
        if is_too_much or not all(map(_MODULE_STEP.match, steps)):
            return dotted
        for end in range(len(steps), 0, -1):
            file = "/".join(steps[:end]) + ".py"
            if (self._folder / file).is_file():
                return "::".join([file, *steps[end:]])
        return dotted
