"""Reads one signal: the fields between its tags, and what their texts mean (requirement C2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from endstop.signals.contract import DEFAULT_CONFIDENCE, FieldValue, JsonValue, Signal, SignalType

_FIELD = re.compile(r"\s*+<([A-Za-z_][\w-]*+)>")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_ENTITY = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}

_INFINITY = float("inf")

_MAX_DEPTH = 8
"""Lists that nest deeper stay text. No honest field does; a record refuses facts that nest too deep, and
whether Python can read very deep ones depends on how deep its stack is already."""


def split_fields(body: str) -> tuple[dict[str, str], str]:
    """The fields of a signal's body, as written, and what is wrong with it: '' if nothing is."""
    fields: dict[str, str] = {}
    at = 0
    while (opening := _FIELD.match(body, at)) is not None:
        name, start = opening[1], opening.end()
        end = body.find(f"</{name}>", start)
        if end < 0:
            return fields, f"the field {name[:40]!r} is not closed"
        fields.setdefault(name, body[start:end])
        at = end + len(name) + 3
    rest = body[at:].strip()
    if not rest:
        return fields, ""
    return fields, "a tag that opens no field" if rest[0] == "<" else "text outside of the fields"


def read_signal(type_: SignalType, raw_fields: Mapping[str, str]) -> Signal:
    """The signal that fields as written stand for. Anything can be read: what has no meaning stays text."""
    texts = {name: _decode(raw).strip() for name, raw in raw_fields.items()}
    confidence = read_confidence(texts.pop("confidence", ""))
    fields = {name: read_value(text) for name, text in texts.items()}
    return Signal(type=type_, confidence=confidence, fields=fields)


def read_confidence(text: str) -> float:
    """A number from 0.0 to 1.0: clamped if outside, 0.5 if ``text`` is not a number."""
    # float() also takes digits of other scripts and 1_0, which no model means as a confidence.
    if not text.isascii() or "_" in text:
        return DEFAULT_CONFIDENCE
    try:
        number = float(text)
    except ValueError:
        return DEFAULT_CONFIDENCE
    is_number = number == number  # as everything is but NaN
    return min(1.0, max(0.0, number)) if is_number else DEFAULT_CONFIDENCE


def read_value(text: str) -> FieldValue:
    """A whole number or a JSON list if ``text`` is one, otherwise the text."""
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if not (text.startswith("[") and text.endswith("]")):
        return text
    try:
        parsed: object = json.loads(
            text, parse_int=_short_int, parse_float=_finite_float, parse_constant=_finite_float
        )
        return cast("tuple[JsonValue, ...]", _frozen(parsed, 1))
    except (ValueError, RecursionError):
        return text


def _short_int(text: str) -> int:
    """The number ``text`` stands for; one of more digits than a field may have is a ValueError."""
    if not _WHOLE_NUMBER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _finite_float(text: str) -> float:
    """The number ``text`` stands for; NaN and the infinities, which are no JSON, are a ValueError."""
    number = float(text)
    if not abs(number) < _INFINITY:
        raise ValueError(text)
    return number


def _frozen(value: object, depth: int) -> JsonValue:
    """``value`` as something that cannot change; ValueError if it cannot be kept in a record."""
    if depth > _MAX_DEPTH and isinstance(value, list | dict):
        raise ValueError(depth)
    if isinstance(value, list):
        return tuple(_frozen(item, depth + 1) for item in cast("list[object]", value))
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return MappingProxyType({_storable(key): _frozen(item, depth + 1) for key, item in items})
    if isinstance(value, str):
        return _storable(value)
    return cast("bool | int | float | None", value)


def _storable(text: str) -> str:
    """``text``; a lone surrogate, which JSON can spell and no database can keep, is a ValueError."""
    text.encode()
    return text


def _decode(text: str) -> str:
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    """The character that ``entity`` stands for; one that stands for none is left as it is."""
    if entity[1]:
        return _CHARACTERS[entity[1]]
    code = int(entity[2]) if entity[2] else int(entity[3], 16)
    is_character = 0 < code < 0xD800 or 0xE000 <= code <= 0x10FFFF
    return chr(code) if is_character else entity[0]
