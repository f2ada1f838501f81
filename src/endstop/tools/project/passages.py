"""Prose cut into passages: one per section, long sections at their paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

PROSE_ENDINGS = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org")
MOST_PASSAGE_CHARS = 1_500

_MARKED_HEADING = re.compile(r"(#{1,6}|={1,6}|\*{1,6})\s+(\S.*?)\s*[#=]*\s*$")
_UNDERLINE = re.compile(r"(=|-|~|\^|\"|\*|\+|#)\1{2,}\s*$")
_FENCE = re.compile(r"\s*(```|~~~|----\s*$)")


@dataclass(frozen=True, slots=True)
class Passage:
    """Some lines of a text, and the headings they stand under."""

    line: int
    heading: str
    text: str


def is_prose(path: str) -> bool:
    return path.lower().endswith(PROSE_ENDINGS)


def passages(text: str) -> list[Passage]:
    """All passages of a text that have something in them."""
    lines = text.split("\n")
    starts = list(_headings(lines))
    if not starts or starts[0][0] > 0:
        starts.insert(0, (0, 0, ""))
    trail: list[tuple[int, str]] = []
    found: list[Passage] = []
    for (first, level, heading), (end, *_) in pairwise([*starts, (len(lines), 0, "")]):
        trail = [*(one for one in trail if one[0] < level), (level, heading)]
        shown = " > ".join(name for _, name in trail if name)
        found += (
            Passage(start + 1, shown, body) for start, body in _pieces(lines, first, end) if body.strip()
        )
    return found


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """The number, level and words of each line that is a heading."""
    is_fenced = False
    for number, line in enumerate(lines):
        if _FENCE.match(line) and not (number and lines[number - 1].strip() and line.startswith("----")):
            is_fenced = not is_fenced
        elif not is_fenced and (marked := _MARKED_HEADING.match(line)):
            yield number, len(marked[1]), marked[2]
        elif not is_fenced and line.strip() and number + 1 < len(lines):
            under = _UNDERLINE.match(lines[number + 1])
            if under and len(lines[number + 1].strip()) >= len(line.strip()):
                yield number, '=-~^"*+#'.index(under[1]) + 1, line.strip()


def _pieces(lines: list[str], first: int, end: int) -> Iterator[tuple[int, str]]:
    """The lines from ``first`` to ``end`` in pieces that are not too long, cut at empty lines if possible."""
    start, size, last_gap = first, 0, first
    for number in range(first, end):
        if not lines[number].strip():
            last_gap = number + 1
        size += len(lines[number]) + 1
        if size > MOST_PASSAGE_CHARS and number > start:
            cut = last_gap if last_gap > start else number
            yield start, "\n".join(lines[start:cut])
            start = cut
            size = sum(len(line) + 1 for line in lines[start : number + 1])
    yield start, "\n".join(lines[start:end])
