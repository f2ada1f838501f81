"""Search in prose: by words in whatever form, headings first."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from endstop.tools.project.words import parts, quoted, trimmed, words


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsHit:
    """A passage that fits a query."""

    path: str
    line: int
    heading: str
    text: str
    score: float


def search_docs(connection: sqlite3.Connection, query: str, *, most: int = 10) -> list[DocsHit]:
    """The best passages for a query, best first."""
    query = trimmed(query)
    asked = words(query)
    found = _ranked(connection, asked, most)
    if not found:
        found = _ranked(connection, [part for word in asked for part in parts(word) if len(part) > 2], most)
    if not found and query:
        found = _containing(connection, query, most)
    return found


def _ranked(connection: sqlite3.Connection, asked: list[str], most: int) -> list[DocsHit]:
    if not asked:
        return []
    rows = connection.execute(
        "SELECT p.path, p.line, p.heading, p.text, -bm25(prose, 2.0, 4.0, 1.0) AS score FROM prose "
        "JOIN passages AS p ON p.id = prose.rowid WHERE prose MATCH ? ORDER BY score DESC, p.id LIMIT ?",
        (" OR ".join(quoted(word) for word in asked), most),
    )
    return _hits(rows)


def _containing(connection: sqlite3.Connection, query: str, most: int) -> list[DocsHit]:
    """Signs that are no words, and languages that do not part their words: as they stand."""
    pattern = "%" + re.sub(r"([%_\\])", r"\\\1", query) + "%"
    rows = connection.execute(
        "SELECT path, line, heading, text, 0.0 FROM passages "
        "WHERE text LIKE ?1 ESCAPE '\\' OR heading LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT ?2",
        (pattern, most),
    )
    return _hits(rows)


def _hits(rows: Iterable[tuple[str, int, str, str, float]]) -> list[DocsHit]:
    return [
        DocsHit(path=path, line=line, heading=heading, text=text, score=score)
        for path, line, heading, text, score in rows
    ]
