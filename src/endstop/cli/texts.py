"""Text for people: without what could disturb a terminal, short, and numbers and times as one reads them."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from decimal import Decimal

from endstop.kernel.limits import money

_UNSAFE = frozenset({"Cc", "Cs", "Co", "Cn"})
_TURNS_TEXT_AROUND = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str) -> str:
    """``text`` without control characters: what a model or a tool wrote must not drive the terminal."""
    if text.isprintable():
        return text
    return "".join(_safe(each) for each in text)


def one_line(text: str, most_chars: int = 80) -> str:
    """The beginning of a text on one line."""
    line = clean(" ".join(text[: most_chars * 4].split()))
    return line if len(line) <= most_chars and len(text) <= most_chars * 4 else f"{line[: most_chars - 1]}…"


def cost(value: Decimal | None) -> str:
    """Dollars, or ``unknown``: never zero for what nobody knows (A10)."""
    return "unknown" if value is None else f"${money(value)}"


def iso(unix_s: float | None) -> str | None:
    """A time for programs."""
    return None if unix_s is None else datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="milliseconds")


def local_time(unix_s: float) -> str:
    """A time for people, where they are."""
    return datetime.fromtimestamp(unix_s).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``1 turn``, ``2 turns``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _safe(each: str) -> str:
    if each in "\n\t":
        return each
    if each == "\r" or each in _TURNS_TEXT_AROUND:
        return ""
    return "\ufffd" if unicodedata.category(each) in _UNSAFE else each
