"""Texts on their way into a column and back.

A column of text cannot hold everything that a Python text can: PostgreSQL refuses NUL, and half a surrogate
pair is no UTF-8. Such characters are written as SUB and four hexadecimal digits, so that they come back
as they were, and two users whose names differ only by them stay two. All other texts are left alone.
"""

from __future__ import annotations

import re

_SUB = "\x1a"
_UNSTORABLE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")


def stored(text: str) -> str:
    """A text as a column holds it."""
    if _UNSTORABLE.search(text) is None:
        return text
    return _UNSTORABLE.sub(lambda found: f"{_SUB}{ord(found.group()):04x}", text)


def stored_or_none(text: str | None) -> str | None:
    return None if text is None else stored(text)


def restored(text: str) -> str:
    """A text as it was before it was stored."""
    if _SUB not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text)


def restored_or_none(text: str | None) -> str | None:
    return None if text is None else restored(text)
