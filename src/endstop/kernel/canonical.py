"""One form for things that mean the same, so that rewording does not look like progress.

Arguments are equal when they differ only in key order, white space, Unicode form, or 1 against 1.0.
Error texts are equal when they differ only in time stamps, durations, addresses and identifiers.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from hashlib import blake2b
from math import isfinite
from typing import cast

_MAX_DEPTH = 60
"""Deeper arguments are compared by their text: no honest call nests this far."""

_MAX_ERROR_CHARS = 2_000

_LARGEST_WHOLE = 2**63
"""Larger numbers are compared by their text: writing them out could cost without bound."""


def squash_space(text: str) -> str:
    """``text`` in Unicode form NFC, with every run of white space as one blank."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def fold_text(text: str) -> str:
    """``text`` without the differences that do not count in prose: case and white space."""
    return squash_space(text).casefold()


def digest(text: str) -> str:
    """A short fingerprint of ``text``, the same in every process."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def action_key(tool: str, arguments: object) -> str:
    """A fingerprint of a call: equal for calls that mean the same."""
    return digest(f"{tool.strip()}\n{canonical_arguments(arguments)}")


def canonical_arguments(arguments: object) -> str:
    """``arguments`` as text in one canonical form. Takes anything, JSON text included; never fails."""
    if isinstance(arguments, str):
        arguments = _read_json(arguments)
    return json.dumps(_canonical(arguments, 0), ensure_ascii=False, separators=(",", ":"))


def _read_json(text: str) -> object:
    """What a JSON text says; a text that is no JSON object or list stands for itself."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return cast(object, json.loads(text))
    except (ValueError, RecursionError):
        return text


def _canonical(value: object, depth: int) -> object:
    """``value`` as something that JSON writes in exactly one way."""
    match value:
        case None | bool():
            return value
        case str():
            return squash_space(value)
        case int():
            return value if abs(value) < _LARGEST_WHOLE else f"#{hex(value)}"
        case float() | Decimal():
            if not isfinite(value) or abs(value) >= _LARGEST_WHOLE:
                return f"#{value!s}"
            return int(value) if value == int(value) else float(value)
        case Mapping() if depth < _MAX_DEPTH:
            items = cast("Mapping[object, object]", value).items()
            pairs = [(squash_space(str(key)), _canonical(item, depth + 1)) for key, item in items]
            return dict(sorted(pairs, key=lambda pair: pair[0]))
        case AbstractSet() if depth < _MAX_DEPTH:
            members = [_canonical(item, depth + 1) for item in cast("AbstractSet[object]", value)]
            return sorted(members, key=lambda member: json.dumps(member, ensure_ascii=False))
        case Sequence() if depth < _MAX_DEPTH and not isinstance(value, bytes | bytearray | memoryview):
            return [_canonical(item, depth + 1) for item in cast("Sequence[object]", value)]
        case _:
            return f"!{type(value).__name__}:{canonical_error(_text_of(value))}"


def _text_of(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - the object is not ours and its repr may do anything
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


_VOLATILE = re.compile(
    r"""
      \d{4}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?   # dates and time stamps
    | \b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?:\ ?[AaPp][Mm])?\b                        # times of day
    | \b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b                # UUIDs
    | \b0x[0-9a-fA-F]+\b                                                              # addresses
    | \b\d+(?:\.\d+)?\ ?(?:ns|us|µs|ms|s|sec|secs|seconds?|min|mins|minutes?|h|hours?)\b  # durations
    | \b\d{10,19}(?:\.\d+)?\b                                                         # epoch time stamps
    """,
    re.VERBOSE,
)


def canonical_error(text: str) -> str:
    """An error's text without what changes from one try to the next."""
    return fold_text(_VOLATILE.sub("~", text[:_MAX_ERROR_CHARS]))


def error_key(text: str) -> str:
    """A fingerprint of an error: equal for the same error met again later."""
    return digest(canonical_error(text))
