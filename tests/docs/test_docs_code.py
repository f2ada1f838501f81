"""The documentation is true: its code runs and prints what it says, its links and lists are right.

In README.md and docs/**/*.md:

- the ``python`` blocks of a page run in order, as one script, in a process and an empty folder of their own;
- a ``python no-run`` block is only compiled;
- a ``text`` block directly after a ``python`` block is what that block prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

import endstop
from endstop.events.facts import PAYLOAD_OF_TYPE, severity_of
from endstop.guard import Guard, Scope, Turn
from endstop.kernel.finding import DEFAULT_RESPONSES
from endstop.kernel.limits import LIMIT_FACTS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
LINKED = [*PAGES, *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))]

END_OF_BLOCK = "\x1e"
"""Printed after each block, so that what the blocks print can be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page. ``first`` and ``last`` are its fences, as indices of the page's lines."""

    label: str
    first: int
    last: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_of(page: Path) -> list[str]:
    return page.read_text(encoding="utf-8").splitlines()


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    opened: tuple[int, str] | None = None
    lines = lines_of(page)
    for number, line in enumerate(lines):
        if opened is None and line.lstrip().startswith("```"):
            assert line.startswith("```"), f"{named(page)}:{number + 1}: a fence must stand at the margin"
            opened = number, line.removeprefix("```").strip()
        elif opened is not None and line.rstrip() == "```":
            first, label = opened
            yield Block(label=label, first=first, last=number, lines=tuple(lines[first + 1 : number]))
            opened = None
    assert opened is None, f"{named(page)}: the block of line {opened and opened[0] + 1} is not closed"


def script_of(page: Path, blocks: list[Block]) -> str:
    """The python blocks of a page as one script. Each line keeps its number, so that tracebacks lead home."""
    script = [""] * (len(lines_of(page)) + 1)
    for block in blocks:
        script[block.first + 1 : block.last] = block.lines
        script[block.last] = f"print({END_OF_BLOCK!r})"
    return "\n".join(script)


def promised_after(page: Path, block: Block, blocks: list[Block]) -> Block | None:
    """The ``text`` block directly after a block, if there is one."""
    following = next((one for one in blocks if one.first > block.last), None)
    if following is None or following.label != "text":
        return None
    between = lines_of(page)[block.last + 1 : following.first]
    return None if any(line.strip() for line in between) else following


def trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    blocks = list(blocks_of(page))
    run = [block for block in blocks if block.label == "python"]
    if not run:
        return
    script = tmp_path / "page.py"
    script.write_text(script_of(page, run), encoding="utf-8")
    folder = tmp_path / "empty"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", str(script)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=50,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
    )
    assert done.returncode == 0, f"{named(page)} (line numbers are those of the page)\n{done.stderr}"
    printed = done.stdout.split(f"{END_OF_BLOCK}\n")
    for block, output in zip(run, printed[:-1], strict=True):
        promised = promised_after(page, block, blocks)
        if promised is not None:
            assert trimmed(output) == trimmed(promised.text), f"{named(page)}:{promised.first + 1}"


@pytest.mark.parametrize("page", LINKED, ids=named)
def test_code_that_is_not_run_can_be_compiled_at_least(page: Path) -> None:
    for block in blocks_of(page):
        assert block.label in {"", "python", "python no-run", "text", "sh", "json", "toml"}, block.label
        if block.label.startswith("python"):
            compile("\n" * (block.first + 1) + block.text, named(page), "exec")


def prose_of(page: Path) -> str:
    """A page without its blocks and without its code in backticks."""
    lines = lines_of(page)
    for block in blocks_of(page):
        lines[block.first : block.last + 1] = [""] * (block.last + 1 - block.first)
    return re.sub(r"`[^`\n]*`", "", "\n".join(lines))


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made from their words."""
    lines = lines_of(page)
    inside = {number for block in blocks_of(page) for number in range(block.first, block.last + 1)}
    headings = [line for number, line in enumerate(lines) if number not in inside and line.startswith("#")]
    words = (heading.lstrip("#").strip().lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in words}


@pytest.mark.parametrize("page", LINKED, ids=named)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{named(page)} links to {target}"
        assert goal.is_relative_to(ROOT), f"{named(page)} links out of the project: {target}"
        if anchor:
            assert anchor in anchors_of(goal), f"{named(page)} links to {target}, which has no such heading"


def test_every_page_can_be_reached_from_the_map() -> None:
    prose = prose_of(DOCS / "index.md")
    listed = {(DOCS / target.split("#")[0]).resolve() for target in re.findall(r"\]\(([^)\s]+)\)", prose)}
    pages = {page for page in DOCS.rglob("*.md") if page.name != "index.md"}
    assert pages - listed == set()


def rows_of(page: Path, section: str | None = None) -> Iterator[list[str]]:
    """The rows of the tables of a page, or of one of its sections, whose first cell is code: `such`."""
    inside = section is None
    for line in lines_of(page):
        if line.startswith("#") and section is not None:
            inside = line.lstrip("#").strip() == section
        elif inside and line.startswith("| `"):
            yield [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_page_of_facts_lists_every_type_with_its_fields_and_severity() -> None:
    listed: dict[str, tuple[list[str], str]] = {}
    for types, payload, severity, *_ in rows_of(DOCS / "reference" / "facts.md"):
        for name in names_in(types):
            assert name not in listed
            listed[name] = names_in(payload), severity
    assert set(listed) == set(PAYLOAD_OF_TYPE)
    for name, (payload_fields, severity) in listed.items():
        payload = PAYLOAD_OF_TYPE[name]
        known = [field.name for field in fields(payload) if field.init]
        assert payload_fields == [field for field in known if field not in ("at_s", "scope")], name
        # A bare payload has the severity its kind has when its contents do not decide.
        assert severity_of(object.__new__(payload)).value in severity, name


def test_the_page_of_the_api_lists_the_public_names_and_no_others() -> None:
    listed = [
        name.removeprefix("es.").partition("(")[0]
        for row in rows_of(DOCS / "reference" / "api.md")
        for name in names_in(row[0])
        if name.startswith("es.")
    ]
    assert sorted(listed) == sorted(endstop.__all__)


@pytest.mark.parametrize(
    ("section", "kind", "inherited"),
    [("Scope", Scope, object), ("Guard", Guard, Scope), ("Turn", Turn, object)],
)
def test_the_page_of_the_api_lists_the_methods(section: str, kind: type, inherited: type) -> None:
    rows = rows_of(DOCS / "reference" / "api.md", section)
    listed = [name.partition("(")[0] for row in rows for name in names_in(row[0])]
    public = {name for name in dir(kind) if not name.startswith("_")} - set(dir(inherited))
    assert sorted(listed) == sorted(public)


def test_the_page_of_errors_lists_every_error_with_its_code() -> None:
    listed = {
        (name, code)
        for row in rows_of(DOCS / "reference" / "errors.md")
        for name, code in zip(names_in(row[0]), names_in(row[1]), strict=True)
    }
    errors = [one for one in vars(endstop.errors).values() if isinstance(one, type)]
    known = {(one.__name__, one.code) for one in errors if issubclass(one, endstop.EndstopError)}
    assert listed == known


def test_the_guide_to_limits_lists_every_limit_with_its_bounds_and_warning() -> None:
    rows = list(rows_of(DOCS / "guides" / "limits-and-warnings.md", "Every limit"))
    assert [names_in(row[0]) for row in rows] == [[kind.value] for kind in LIMIT_FACTS]
    for (_, _, bounds, warning, *_), facts in zip(rows, LIMIT_FACTS.values(), strict=True):
        assert bounds == f"{facts.smallest:,} to {facts.largest:,.0f}"
        assert warning == ("none" if facts.default_warn_at is None else f"{facts.default_warn_at:.0%}")


def test_the_guide_to_stuck_runs_lists_every_pattern_and_every_threshold() -> None:
    page = DOCS / "guides" / "stuck-detection.md"
    patterns = {row[0]: row[-1] for row in rows_of(page, "The patterns")}
    assert patterns == {f"`{pattern}`": response.value for pattern, response in DEFAULT_RESPONSES.items()}
    thresholds = {names_in(row[0])[0]: row[1] for row in rows_of(page, "Thresholds")}
    assert thresholds == {field.name: f"{field.default:,}" for field in fields(endstop.Thresholds)}
