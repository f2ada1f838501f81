"""What an answer rests on: each place once, those that the answer names first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from endstop.cli.texts import one_line
from endstop.events.facts import SourceCited

if TYPE_CHECKING:
    from endstop.events.facts import Fact

MOST_SHOWN = 10
_TITLE_CHARS = 60


def sources_of(facts: Iterable[Fact], answer: str) -> list[SourceCited]:
    """The sources of a run, those first that its answer names, in the order in which it does."""
    places: dict[str, SourceCited] = {}
    for fact in facts:
        if isinstance(fact.payload, SourceCited):
            places.setdefault(fact.payload.location, fact.payload)
    return sorted(places.values(), key=lambda source: _rank(source.location, answer))


def source_lines(sources: Sequence[SourceCited]) -> list[str]:
    """The sources for people, numbered; only the first few of many."""
    lines = [f"{number:>2}. {_shown(source)}" for number, source in enumerate(sources[:MOST_SHOWN], start=1)]
    more = len(sources) - MOST_SHOWN
    return [*lines, f"… and {more:,} more"] if more > 0 else lines


def sources_json(sources: Sequence[SourceCited]) -> list[dict[str, str]]:
    return [{"title": one.title, "location": one.location, "passage": one.passage} for one in sources]


def _rank(location: str, answer: str) -> tuple[int, int]:
    """By the place where the answer names it; after these its file; then what it does not name at all."""
    for rank, name in enumerate((location, location.rpartition(":")[0])):
        named = re.search(rf"{re.escape(name)}(?!\d)", answer) if name else None
        if named is not None:
            return rank, named.start()
    return 2, 0


def _shown(source: SourceCited) -> str:
    title = one_line(source.title, _TITLE_CHARS)
    location = one_line(source.location, 200)
    return location if not title or title in location else f"{location}  {title}"
