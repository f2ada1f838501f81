"""Freezing what others hand in, so that nobody can change it behind the kernel's back."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType
from typing import cast

from endstop.errors import InvalidValueError

_MAX_DEPTH = 20
_JSON_ONLY = "text, numbers, true, false, null, lists and mappings with text keys"


def frozen_json(field: str, value: object) -> Mapping[str, object]:
    """A mapping of JSON values as a read-only copy, all the way down."""
    if not isinstance(value, Mapping):
        raise InvalidValueError(field, value, allowed="a mapping")
    return cast("Mapping[str, object]", _frozen(field, cast(object, value), 0))


def _frozen(field: str, value: object, depth: int) -> object:
    if depth > _MAX_DEPTH:
        raise InvalidValueError(field, "nested too deep", allowed=f"at most {_MAX_DEPTH} levels")
    match value:
        case float() if not isfinite(value):
            raise InvalidValueError(field, value, allowed="finite numbers")
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return MappingProxyType(
                {_text_key(field, key): _frozen(field, item, depth + 1) for key, item in items}
            )
        case list() | tuple():
            return tuple(_frozen(field, item, depth + 1) for item in cast("list[object]", value))
        case _:
            raise InvalidValueError(
                field, value, allowed=_JSON_ONLY, to_do="It is written into the record; keep it plain"
            )


def _text_key(field: str, key: object) -> str:
    if not isinstance(key, str):
        raise InvalidValueError(field, key, allowed="text as keys")
    return key
