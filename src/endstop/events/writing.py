"""Frozen dataclasses as JSON text. Every fact of every run is written, so how a type is written is worked
out once per type, and the text is made without plain values in between.

A member of a union of dataclasses carries its class name under ``is``. Money is text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from enum import Enum
from functools import cache
from json.encoder import encode_basestring_ascii as quoted
from math import isfinite
from operator import attrgetter
from types import NoneType
from typing import Any

from endstop.kernel.conditions import CONDITIONS

_Writer = Callable[[Any], str]


def json_text(value: object) -> str:
    """A value as JSON text, in plain ASCII and without white space."""
    return _WRITERS[type(value)](value)


def _write_float(value: float) -> str:
    if not isfinite(value):
        raise ValueError(f"{value!r} is no finite number: JSON cannot say it")
    return float.__repr__(value)


def _write_mapping(value: Mapping[object, object]) -> str:
    items = {str(key): json_text(item) for key, item in value.items()}
    return "{" + ",".join([f"{quoted(key)}:{text}" for key, text in items.items()]) + "}"


def _write_list(value: tuple[object, ...] | list[object]) -> str:
    return "[" + ",".join(map(json_text, value)) + "]"


def _dataclass_writer(kind: Any) -> _Writer:
    names = [field.name for field in fields(kind) if field.init]
    parts = [f'"is":"{kind.__name__}"'] if kind in _tagged() else []
    parts.extend(f'"{name}":%s' for name in names)
    template = "{" + ",".join(parts) + "}"
    values = _reader(names)
    return lambda value: template % tuple([_WRITERS[type(item)](item) for item in values(value)])


def _reader(names: list[str]) -> Callable[[Any], tuple[object, ...]]:
    """Reads all fields at once. One name alone would give the bare value, and none an error."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


@cache
def _tagged() -> frozenset[type]:
    """The classes that stand in unions with others, and so must say which they are."""
    from endstop.kernel.outcome import Abandoned, Cancelled, Completed, Failed, Forced, Stopped
    from endstop.kernel.review import Approved, NeedsChanges, Rejected

    endings = (Completed, Forced, Stopped, Abandoned, Cancelled, Failed)
    return frozenset((*endings, Approved, NeedsChanges, Rejected, *CONDITIONS))


class _Writers(dict[type, _Writer]):
    """How to write a type; for one not met before, worked out from what it is."""

    def __missing__(self, kind: type) -> _Writer:
        writer = self[kind] = self._found(kind)
        return writer

    def _found(self, kind: type) -> _Writer:
        for known in (int, float, str, Decimal):  # an enum of texts or numbers is one of them
            if issubclass(kind, known):
                return self[known]
        if issubclass(kind, Enum):
            return lambda value: json_text(value.value)
        if issubclass(kind, Mapping):
            return _write_mapping
        if issubclass(kind, tuple | list):
            return _write_list
        return _dataclass_writer(kind)


_WRITERS = _Writers(
    {
        NoneType: {None: "null"}.__getitem__,
        bool: {True: "true", False: "false"}.__getitem__,
        int: int.__repr__,
        float: _write_float,
        str: quoted,
        Decimal: lambda value: f'"{value}"',
    }
)
