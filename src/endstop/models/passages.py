"""Passages in what tools return: where they are, and how well they fit a question.

Nothing is known of the tools but that they cite places as ``path:line`` at the start of a line, and mostly
number the lines they show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from endstop.models.keywords import Keyword

_PLACE = re.compile(
    r"\s{0,4}(?:[-*•>#]+\s*|\d+[.)]\s+)?[*`\"']{0,3}(?P<path>(?:\w+:)?[^\s:*`\"']*[./][^\s:*`\"']*):(?P<line>\d{1,7})"
    r"(?:[-–:]\d+)?[*`\"']{0,3}[:,\s]*(?P<rest>.*)"
)
_PLACE_ABOVE_LINES = re.compile(r"(?P<path>\S.*?):(?P<line>\d{1,7})(?:\s+(?P<rest>.*))?")
"""A place with spaces or without any dot in it is only taken for one when numbered lines follow."""

_NUMBERED = re.compile(r"\s*(\d{1,7})(?:\s?[|:→│]\s?|\t|  | |$)(.*)")
_DEFINES = r"\b(?:def|class|function|func|fn|interface|type|struct|enum|const|module|let|var)\s+{}\b"

_MOST_LINES_READ = 400
_WINDOW_LINES = 14
_LEAD_LINES = 2
_MOST_LINE_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Lines of a file that a tool showed."""

    path: str
    first_line: int
    lines: tuple[str, ...] = ()
    heading: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.first_line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A passage, cut to where it fits best, and how well it fits."""

    passage: Passage
    score: int
    found: frozenset[str]
    """The keywords in it."""


def passages_in(text: str, *, path: str | None = None, first_line: int = 1) -> list[Passage]:
    """The passages of one result. ``path`` and ``first_line`` are for a result that cites no place."""
    found: list[Passage] = []
    place = None if path is None else Passage(path=path, first_line=first_line)
    lines: list[str] = []
    shown = [line[:_MOST_LINE_CHARS] for line in text.splitlines()[:_MOST_LINES_READ]]
    for line, after in zip(shown, [*shown[1:], ""], strict=False):
        match = _PLACE.fullmatch(line)
        if _NUMBERED.fullmatch(after) and not _NUMBERED.fullmatch(line):
            match = match or _PLACE_ABOVE_LINES.fullmatch(line)
        if match is None or "//" in match["path"]:
            lines.append(line)
            continue
        _add(found, place, lines)
        place = Passage(path=match["path"], first_line=int(match["line"]), heading=match["rest"] or "")
        lines = []
    _add(found, place, lines)
    return found


def ranked(passages: Iterable[Passage], words: Sequence[Keyword]) -> list[Ranked]:
    """The passages that have some of the words, best first, none twice."""
    judged = [one for one in (_judged(passage, words) for passage in passages) if one.score]
    judged.sort(key=lambda one: -one.score)  # stable: equals stay in the order found
    kept: list[Ranked] = []
    for one in judged:
        if not any(_overlap(one.passage, other.passage) for other in kept):
            kept.append(one)
    return kept


def _overlap(one: Passage, other: Passage) -> bool:
    return (
        one.path == other.path
        and one.first_line <= other.first_line + len(other.lines)
        and other.first_line <= one.first_line + len(one.lines)
    )


def _add(found: list[Passage], place: Passage | None, lines: Sequence[str]) -> None:
    """Add a passage with its lines, or lines to the passage they go on."""
    if place is None:
        return
    first, texts = _numbered_run(lines)
    if not texts:  # as grep shows it: the text is behind the place, and what follows belongs to it
        first, texts = place.first_line, [*([place.heading] if place.heading else []), *lines]
        place = replace(place, heading="")
    while texts and not texts[-1].strip():
        texts.pop()
    kept = tuple(text.rstrip() for text in texts)
    last = found[-1] if found else None
    if last is not None and last.path == place.path and last.first_line + len(last.lines) == first:
        found[-1] = replace(last, lines=last.lines + kept)
    else:
        found.append(replace(place, first_line=max(first, 1), lines=kept))


def _numbered_run(lines: Sequence[str]) -> tuple[int, list[str]]:
    """The first lines that are numbered one after another, without their numbers."""
    first, texts = 0, list[str]()
    for line in lines:
        match = _NUMBERED.fullmatch(line)
        if match is not None and (not texts or int(match[1]) == first + len(texts)):
            first = first if texts else int(match[1])
            texts.append(match[2])
        elif texts:
            break
    return first, texts


def _judged(passage: Passage, words: Sequence[Keyword]) -> Ranked:
    """The part of a passage that fits best."""
    scores = [_line_score(line, words) for line in passage.lines]
    best = max(range(len(scores)), key=lambda at: scores[at], default=0)
    starts = range(max(len(scores) - _WINDOW_LINES, 0) + 1)
    # Of windows with the same words, the one in which the best line comes soon.
    start = max(starts, key=lambda at: (sum(scores[at : at + _WINDOW_LINES]), -abs(best - _LEAD_LINES - at)))
    lines = passage.lines[start : start + _WINDOW_LINES]
    window = replace(passage, first_line=passage.first_line + start, lines=lines)
    text = "\n".join((passage.path, passage.heading, *lines)).lower()
    found = frozenset(word.text for word in words if word.text.lower() in text)
    breadth = sum(10 * word.weight for word in words if word.text in found)
    depth = min(sum(scores[start : start + _WINDOW_LINES]), 9)
    return Ranked(passage=window, score=breadth + depth if breadth else 0, found=found)


def _line_score(line: str, words: Sequence[Keyword]) -> int:
    lowered = line.lower()
    score = 0
    for word in words:
        if word.text.lower() in lowered:
            score += word.weight
            if re.search(_DEFINES.format(re.escape(word.text)), line):
                score += 4
    return score
