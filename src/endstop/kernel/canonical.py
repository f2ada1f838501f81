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
from operator import itemgetter
from typing import cast

_MAX_DEPTH = 60
"""Deeper arguments are compared by their text: no honest call nests this far."""

_MAX_ERROR_CHARS = 2_000
_SHORT_CHARS = 64
_BYTES = (bytes, bytearray, memoryview)

_LARGEST_WHOLE = 2**63
"""Larger numbers are compared by their text: writing them out could cost without bound."""


_to_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_from_text = json.JSONDecoder().decode


def squash_space(text: str) -> str:
    """``text`` in Unicode form NFC, with every run of white space as one blank."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def fold_text(text: str) -> str:
    """``text`` without the differences that do not count in prose: case and white space."""
    return squash_space(text).casefold()


def digest(text: str) -> str:
    """A short fingerprint of ``text``, the same in every process."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def fingerprint(text: str) -> str:
    """Equal for equal texts, and never long: a short text is its own."""
    return text if len(text) <= _SHORT_CHARS else digest(text)


def action_key(tool: str, arguments: object) -> str:
    """A fingerprint of a call: equal for calls that mean the same."""
    return key_of(tool, canonical_arguments(arguments))


def key_of(tool: str, canonical: str) -> str:
    """The fingerprint of a call whose arguments are in canonical form already."""
    return digest(f"{tool.strip()}\n{canonical}")


def canonical_arguments(arguments: object) -> str:
    """``arguments`` as text in one canonical form. Takes anything, JSON text included; never fails."""
    if isinstance(arguments, str):
        arguments = _read_json(arguments)
    return _written(_plain(arguments))


def canonical_text(arguments: str) -> tuple[str, bool]:
    """The canonical form of JSON text, and whether it says the same to the letter: white space inside of
    texts is folded, and a program, say, is another without it."""
    given = _read_json(arguments)
    plain = _plain(given)
    return _written(plain), plain == given


def _plain(arguments: object) -> object:
    try:
        return _canonical(arguments, 0)
    except Exception:  # noqa: BLE001 - the object is not ours: its keys or items may raise anything
        return _shown(arguments)


def _written(plain: object) -> str:
    """As JSON. A dict of texts and whole numbers, as most arguments are, is written here: an encoder takes
    longer to get ready for it than to write it."""
    if not isinstance(plain, dict):
        return _to_text(plain)
    parts: list[str] = []
    for key, value in cast("dict[str, object]", plain).items():
        if type(value) is int:
            parts.append(f"{_to_text(key)}:{value}")
        elif type(value) is str:
            parts.append(f"{_to_text(key)}:{_to_text(value)}")
        else:
            return _to_text(plain)
    return f"{{{','.join(parts)}}}"


def _read_json(text: str) -> object:
    """What a JSON text says; a text that is no JSON object or list stands for itself."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return _from_text(text)
    except (ValueError, RecursionError):
        return text


def _canonical(value: object, depth: int) -> object:
    """``value`` as something that JSON writes in exactly one way."""
    if (
        type(value) is str
    ):  # most arguments are text in a dict: what else they may be is asked only after that
        return squash_space(value)
    if type(value) is int and -_LARGEST_WHOLE < value < _LARGEST_WHOLE:
        return value
    if value.__class__ is dict and depth < _MAX_DEPTH:
        return _canonical_items(cast("dict[object, object]", value), depth)
    match value:
        case None | bool():
            return value
        case str():
            return squash_space(value)
        case int():
            return value if abs(value) < _LARGEST_WHOLE else f"#{hex(value)}"
        case float() | Decimal():
            if not _is_finite(value) or abs(value) >= _LARGEST_WHOLE:
                return f"#{value!s}"
            return int(value) if value == int(value) else float(value)
        case Mapping() if depth < _MAX_DEPTH:
            return _canonical_items(cast("Mapping[object, object]", value), depth)
        case AbstractSet() if depth < _MAX_DEPTH:
            members = [_canonical(item, depth + 1) for item in cast("AbstractSet[object]", value)]
            return sorted(members, key=lambda member: json.dumps(member, ensure_ascii=False))
        case Sequence() if depth < _MAX_DEPTH and not isinstance(value, _BYTES):
            return [_canonical(item, depth + 1) for item in cast("Sequence[object]", value)]
        case bytes() | bytearray() | memoryview():
            return f"!bytes:{blake2b(cast('bytes', value), digest_size=12).hexdigest()}"
        case _:
            return _shown(value)


def _canonical_items(value: Mapping[object, object], depth: int) -> object:
    pairs = [(squash_space(str(key)), _canonical(item, depth + 1)) for key, item in value.items()]
    if len(pairs) > 1:
        pairs.sort(key=_first)
    return dict(pairs)


_first = itemgetter(0)


def _is_finite(value: float | Decimal) -> bool:
    return value.is_finite() if isinstance(value, Decimal) else isfinite(value)


def _shown(value: object) -> str:
    """An object that is no JSON, by its type and text, without the address that many show."""
    try:
        text = canonical_error(repr(value))
    except Exception as error:  # noqa: BLE001 - its repr may do anything, too
        text = f"cannot be shown: {type(error).__name__}"
    return f"!{type(value).__name__}:{text}"


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_NUMBER = r"\d+(?:[.,]\d+)?(?:e[+-]?\d+)?"
_DURATION_UNIT = (
    r"(?:[nuµμm]?s|[nuµμm]?secs?|(?:nano|micro|milli)?seconds?|mins?|minutes?|h|hrs?|hours?|days?)"
)

_VOLATILE = re.compile(
    rf"""
      \b\d{{4}}[-/]\d\d?[-/]\d\d?                                           # dates, perhaps with a time
        (?:[t\ ]\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?(?:\ ?(?:z|utc|gmt|[+-]\d\d:?\d\d))?)?\b
    | \b\d{{8}}t\d{{6}}(?:\.\d+)?z?\b                                       # 20250131t235959z
    | \b\d\d?/(?:\d\d?|{_MONTH})/\d{{2,4}}\b(?::\d\d:\d\d:\d\d)?            # 31/jan/2025:23:59:59
    | \b(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{{0,6}},?\ )?                # fri, 31 jan 2025
        (?:\d\d?[-\ ]{_MONTH}|{_MONTH}[-\ ]\d\d?)(?:,?[-\ ]\d{{4}})?\b
    | (?<![:.\w])(?<!line\ )\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?(?:\ ?[ap]m)?\b  # times of day, not line:column
    | \b[0-9a-f]{{8}}-(?:[0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}\b               # UUIDs
    | \b0x[0-9a-f]+\b                                                       # addresses in memory
    | \b\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?:(?::|',\ )\d{{1,5}})?\b             # addresses in the network
    | \b(?:\d+\ ?[dhm]\ ?){{0,3}}{_NUMBER}\ ?{_DURATION_UNIT}\b             # 1m 30s, 1.5 seconds
    | \b(?:took|elapsed|duration|latency)\W{{1,4}}{_NUMBER}(?:\ ?{_DURATION_UNIT})?\b  # "elapsed": 0.53
    | \b\d{{10,19}}(?:\.\d+)?\b                                             # epoch time stamps
    | \b(?=[a-f]*\d)[0-9a-f]{{12,64}}\b                                     # digests, container ids
    | \b(?:request|req|trace|span|correlation)[-_\ ]?id\W{{1,4}}[\w-]+      # request_id: req-81jx
    | \breq_\w{{8,64}}\b
    | \bpid\W{{1,3}}\d+\b
    | \btmp[a-z0-9_]{{8}}\b                                                 # names of temporary files
    """,
    re.VERBOSE,
)


def canonical_error(text: str) -> str:
    """An error's text without what changes from one try to the next."""
    # What is taken out may differ in length, so the text is cut again afterwards: both ends then agree.
    folded = fold_text(text[: 2 * _MAX_ERROR_CHARS])
    return _VOLATILE.sub("~", folded)[:_MAX_ERROR_CHARS]


def error_key(text: str) -> str:
    """A fingerprint of an error: equal for the same error met again later."""
    return digest(canonical_error(text))
