"""The words of a query. Whatever a query looks like, nothing in it is syntax."""

from __future__ import annotations

import re

MOST_QUERY_CHARS = 500
MOST_WORDS = 12

_WORD = re.compile(r"\w+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\da-zA-Z_]+")
_COMMON = frozenset(
    {
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
    }
    | {"i", "in", "is", "it", "its", "me", "of", "on", "or", "our", "so", "that", "the", "their", "there"}
    | {"these", "they", "this", "to", "was", "we", "what", "when", "where", "which", "who", "why", "will"}
    | {"with", "you", "your", "about", "please", "find", "show", "tell"}
)


def trimmed(query: str) -> str:
    """The query in a length that can be looked for, on one line, valid as text."""
    one_line = " ".join(query[: 4 * MOST_QUERY_CHARS].split())
    return one_line[:MOST_QUERY_CHARS].replace("\0", "").encode(errors="replace").decode().strip()


def words(query: str) -> list[str]:
    """Its words, each once, without those that say nothing, unless there are no others."""
    all_words = list({word.casefold(): word for word in reversed(_WORD.findall(query))}.values())[::-1]
    telling = [word for word in all_words if word.casefold() not in _COMMON]
    return (telling or all_words)[:MOST_WORDS]


def parts(word: str) -> list[str]:
    """The words inside a name: ``read_file`` and ``readFile`` are ``read`` and ``file``."""
    return _PARTS.findall(word)


def quoted(word: str) -> str:
    """A word as a string of the full-text query language."""
    return '"' + word.replace('"', '""') + '"'
