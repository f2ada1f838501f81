"""Text made fit for the record and for people: shortened, readable, and the name that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from endstop.errors import InvalidValueError
from endstop.kernel.limits import whole

MOST_RESULT_CHARS = 50_000
"""So much of a tool's result goes to the model and into the record."""

TOOL_NAME_RULE = "1 to 64 letters, digits, _ and - (the rule of all providers)"
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_SMALLEST = 100
_LARGEST = 100_000_000


def shortened(text: str, most_chars: int = MOST_RESULT_CHARS) -> str:
    """``text`` if it fits, else its head and its tail with a line between them. Never more than asked."""
    if type(most_chars) is not int or not _SMALLEST <= most_chars <= _LARGEST:
        whole("most_chars", most_chars, smallest=_SMALLEST, largest=_LARGEST)
    if len(text) <= most_chars:
        return text
    room = most_chars - len(_gap(len(text)))
    head_end = _whole_pair(text, room * 2 // 3)
    tail_start = _whole_pair(text, len(text) - (room - room * 2 // 3), forwards=True)
    return text[:head_end] + _gap(tail_start - head_end) + text[tail_start:]


def readable(text: str) -> str:
    """``text`` as every store and provider can take it: no lone surrogates, no NUL."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    spelt_alike = {one.casefold(): one for one in known}
    found = get_close_matches(name[:64].casefold(), list(spelt_alike), n=1)
    return spelt_alike[found[0]] if found else None


def checked_tool_name(name: object) -> str:
    """``name`` if every provider takes it as the name of a tool; a clear error if not."""
    if not isinstance(name, str) or _TOOL_NAME.match(name) is None:
        raise InvalidValueError("name of a tool", name, allowed=TOOL_NAME_RULE)
    return name


def _gap(left_out: int) -> str:
    return f"\n[... {left_out:,} characters left out ...]\n"


def _whole_pair(text: str, cut: int, *, forwards: bool = False) -> int:
    """``cut``, moved by one if it would part a surrogate pair."""
    parts_a_pair = "\ud800" <= text[cut - 1] <= "\udbff" and "\udc00" <= text[cut] <= "\udfff"
    if not parts_a_pair:
        return cut
    return cut + 1 if forwards else cut - 1
