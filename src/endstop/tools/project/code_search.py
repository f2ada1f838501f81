"""Search in code: by names and fragments. Definitions come before uses, whole words before parts."""

from __future__ import annotations

import math
import re
import sqlite3
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from endstop.tools.project.passages import is_prose
from endstop.tools.project.words import parts, quoted, trimmed, words

_MOST_MATCHES = 5_000
_MOST_CANDIDATES = 120
_MOST_HITS = 60
_MOST_TRIGRAMS = 24
_PER_FILE = 3
_WINDOW = 7
"""Words that stand within so many lines of each other belong together."""

_DEFINES = (
    r"(?:def|class|function|func|fn|struct|enum|interface|type|trait|const|let|var|val|module|namespace|"
    r"package|impl|record|object|protocol|union|#define|macro_rules!|create\s+table(?:\s+if\s+not\s+exists)?)"
)
_DEFINITION, _ASSIGNMENT, _EXACT, _WORD, _PART = 8.0, 5.0, 3.0, 2.0, 1.0
_PHRASE_WEIGHT = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeHit:
    """A place in a file that fits a query."""

    path: str
    line: int
    score: float
    lines: Sequence[str]
    """All lines of the file."""


class _Term:
    """Something to look for, and how much it says: a rare one says more."""

    def __init__(self, text: str, *, is_word: bool) -> None:
        self.text = text
        self.is_word = is_word
        self.weight = 1.0

    @cached_property
    def anywhere(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.text).replace(r"\ ", r"\s+"), re.IGNORECASE)

    @cached_property
    def defined(self) -> re.Pattern[str]:
        name = re.escape(self.text)
        return re.compile(rf"(?:^|\W){_DEFINES}\s+(?:\w+\.|\([^)]*\)\s*)?{name}\b", re.IGNORECASE)

    @cached_property
    def assigned(self) -> re.Pattern[str]:
        return re.compile(rf"\s*(?:[\w.]+\.)?{re.escape(self.text)}\s*(?::[^=]*)?=(?!=)", re.IGNORECASE)

    def quality(self, line: str, start: int, end: int) -> float:
        """How well the occurrence at ``start`` in ``line`` fits."""
        if not self.is_word:
            return _EXACT if line[start:end] == self.text else _WORD
        is_whole = not _is_name(line[start - 1 : start]) and not _is_name(line[end : end + 1])
        if not is_whole:
            return _PART
        is_exact = line[start:end] == self.text
        if self.defined.search(line):
            return _DEFINITION + is_exact
        if self.assigned.match(line):
            return _ASSIGNMENT + is_exact
        return _EXACT if is_exact else _WORD


def search_code(
    connection: sqlite3.Connection, query: str, *, below: str = "", most: int = 10
) -> list[CodeHit]:
    """The best places for a query in the files below a folder (or in one file), best first."""
    query = trimmed(query)
    terms = _terms(query)
    if not terms:
        return []
    names = _files_below(connection, below)
    matches = _matches(connection, terms, names)
    if not any(matches.values()):
        terms = [_Term(part, is_word=True) for word in words(query) for part in parts(word) if len(part) > 2]
        matches = _matches(connection, terms, names)
    for term in terms:
        term.weight = math.log(2 + len(names) / (1 + len(matches[term]))) * (
            1 if term.is_word else _PHRASE_WEIGHT
        )
    hits = [hit for file_id in _best(terms, matches) for hit in _hits(connection, file_id, names, terms)]
    hits += _named(connection, names, terms, {hit.path for hit in hits})
    hits.sort(key=lambda hit: (-hit.score, hit.path, hit.line))
    return hits[:most]


def _terms(query: str) -> list[_Term]:
    found = [_Term(word, is_word=True) for word in words(query)]
    if query and (len(found) != 1 or found[0].text != query):
        found.append(_Term(query, is_word=False))
    return found


def _files_below(connection: sqlite3.Connection, below: str) -> dict[int, str]:
    rows: Iterable[tuple[int, str]] = connection.execute("SELECT id, path FROM files WHERE skipped IS NULL")
    return {
        file_id: path for file_id, path in rows if not below or path == below or path.startswith(f"{below}/")
    }


def _matches(
    connection: sqlite3.Connection, terms: Sequence[_Term], names: Mapping[int, str]
) -> dict[_Term, set[int]]:
    """The files that may contain each term."""
    long_enough = [term for term in terms if len(term.text) > 2]
    found: dict[_Term, set[int]] = {term: set() for term in terms}
    for term in long_enough or terms:
        rows = _containing(connection, term.text) if long_enough else _scanned(connection, term.text)
        found[term] = {file_id for (file_id,) in rows if file_id in names}
    return found


def _containing(connection: sqlite3.Connection, text: str) -> Iterable[tuple[int]]:
    """By its trigrams: all must be there, in whatever order; whether they really make it up is seen later."""
    # A gap in a phrase may be any white space in the file, so no trigram may reach across one.
    trigrams = {run[at : at + 3] for run in text.split() for at in range(len(run) - 2)}
    if not trigrams:
        return ()
    wanted = " AND ".join(quoted(one) for one in sorted(trigrams)[:_MOST_TRIGRAMS])
    return connection.execute("SELECT rowid FROM code WHERE code MATCH ? LIMIT ?", (wanted, _MOST_MATCHES))


def _scanned(connection: sqlite3.Connection, text: str) -> Iterable[tuple[int]]:
    """One or two letters: there is nothing for it but to look at everything."""
    pattern = "%" + re.sub(r"([%_\\])", r"\\\1", text) + "%"
    return connection.execute(
        "SELECT id FROM files WHERE text LIKE ? ESCAPE '\\' LIMIT ?", (pattern, _MOST_MATCHES)
    )


def _best(terms: Sequence[_Term], matches: Mapping[_Term, set[int]]) -> list[int]:
    """The files that are worth a closer look."""
    promise: defaultdict[int, float] = defaultdict(float)
    for term in terms:
        for file_id in matches[term]:
            promise[file_id] += term.weight
    return sorted(promise, key=lambda file_id: (-promise[file_id], file_id))[:_MOST_CANDIDATES]


def _hits(
    connection: sqlite3.Connection, file_id: int, names: Mapping[int, str], terms: Sequence[_Term]
) -> list[CodeHit]:
    """The best places in one file, far enough from each other."""
    path = names[file_id]
    (text,) = connection.execute("SELECT text FROM files WHERE id = ?", (file_id,)).fetchone()
    lines: list[str] = text.split("\n")
    found = _scored_lines(text, lines, terms)
    factor = _standing(path, terms)
    windows: list[tuple[float, int]] = []
    for line in found:
        best: dict[_Term, float] = {}
        for near in range(line, line + _WINDOW):
            for term, score in found.get(near, {}).items():
                best[term] = max(best.get(term, 0.0), score)
        # Of windows with the same words, the one that begins with the best line.
        windows.append((factor * (sum(best.values()) + 0.1 * max(found[line].values())), line))
    chosen: list[CodeHit] = []
    for score, line in sorted(windows, key=lambda one: (-one[0], one[1])):
        if all(abs(line - other.line) >= _WINDOW for other in chosen):
            chosen.append(CodeHit(path=path, line=line, score=score, lines=lines))
        if len(chosen) == _PER_FILE:
            break
    return chosen


def _scored_lines(text: str, lines: Sequence[str], terms: Sequence[_Term]) -> dict[int, dict[_Term, float]]:
    """How well each line (counted from 1) fits each term."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found: defaultdict[int, dict[_Term, float]] = defaultdict(dict)
    for term in terms:
        for count, match in enumerate(term.anywhere.finditer(text)):
            if count >= _MOST_HITS:
                break
            number = bisect_right(starts, match.start())
            start = match.start() - starts[number - 1]
            quality = term.quality(lines[number - 1], start, start + match.end() - match.start())
            found[number][term] = max(found[number].get(term, 0.0), quality * term.weight)
    return dict(found)


def _named(
    connection: sqlite3.Connection, names: Mapping[int, str], terms: Sequence[_Term], seen: set[str]
) -> list[CodeHit]:
    """Files that are called like what is looked for: by their whole name, or else by its stem."""
    wanted = {term.text.casefold(): term for term in terms}
    found: list[CodeHit] = []
    for file_id, path in names.items():
        name = path.rpartition("/")[2].casefold()
        by_name = wanted.get(name) or wanted.get(path.casefold())
        term = by_name or (None if path in seen else wanted.get(name.partition(".")[0]))
        if term is not None:
            (text,) = connection.execute("SELECT text FROM files WHERE id = ?", (file_id,)).fetchone()
            score = (_DEFINITION * 2 if by_name else _EXACT) * term.weight
            found.append(CodeHit(path=path, line=1, score=score, lines=text.split("\n")))
    return found


def _standing(path: str, terms: Sequence[_Term]) -> float:
    """A file named after what is looked for counts more; tests and prose come after the code itself."""
    name = path.rpartition("/")[2].casefold()
    stem = name.partition(".")[0]
    asked = {term.text.casefold() for term in terms}
    factor = 1.0
    if stem in asked or name in asked:
        factor *= 1.3
    if re.search(r"(?:^|[/_.-])(?:tests?|spec)(?:[/_.-]|$)", path, re.IGNORECASE) and not asked & {
        "test",
        "tests",
    }:
        factor *= 0.7
    return factor * (0.6 if is_prose(path) else 1.0)


def _is_name(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
