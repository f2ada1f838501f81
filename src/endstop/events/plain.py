"""Frozen dataclasses to plain JSON values and back, driven by their type hints.

A member of a union of dataclasses carries its class name under ``is``. Money is text. What cannot be read
is an ``Unreadable`` that names the place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from math import isfinite
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from endstop.errors import EndstopError
from endstop.events.writing import json_text
from endstop.kernel.conditions import CONDITIONS, Condition
from endstop.kernel.frozen import frozen_json

_T = TypeVar("_T")
_Reader = Callable[[object, str], Any]


class Unreadable(Exception):  # noqa: N818 - a control flow inside this room, turned into a RecordError
    """A value is not what its type says."""


def written(value: object) -> object:
    """A value as plain JSON values."""
    return cast(object, json.loads(json_text(value)))


def read(kind: type[_T], value: object, place: str) -> _T:
    """A value of type ``kind`` from plain JSON values."""
    return cast("_T", _reader(kind)(value, place))


@cache
def _reader(kind: Any) -> _Reader:
    """How to read one type. Worked out once per type."""
    origin: Any = get_origin(kind)
    if kind is Condition:
        return _read_condition
    if origin in (Union, UnionType):
        return _union_reader(get_args(kind))
    if origin is tuple:
        return _tuple_reader(_reader(get_args(kind)[0]))
    if origin is not None and issubclass(origin, Mapping):
        key, item = get_args(kind)
        if item is object:
            return _json_mapping
        return _mapping_reader(_reader(key), _reader(item))
    if is_dataclass(kind):
        return _dataclass_reader(cast("type", kind))
    if issubclass(kind, Enum):
        return _enum_reader(kind)
    return _SCALARS[kind]


def _union_reader(members: tuple[Any, ...]) -> _Reader:
    classes: dict[str, _Reader] = {}
    for member in members:
        if is_dataclass(member):
            classes[cast("type", member).__name__] = _reader(member)
    scalars = [_reader(member) for member in members if not is_dataclass(member) and member is not NoneType]
    if len(scalars) == 1 and not classes:
        return _optional_reader(scalars[0])

    def read_union(value: object, place: str) -> object:
        if value is None and NoneType in members:
            return None
        if isinstance(value, dict) and classes:
            tag = cast("dict[str, object]", value).get("is")
            if tag is None and len(classes) == 1:
                return next(iter(classes.values()))(cast(object, value), place)
            if not isinstance(tag, str) or tag not in classes:
                raise Unreadable(f"{place}.is is {tag!r}, not one of {', '.join(classes)}")
            return classes[tag](cast(object, value), place)
        problems: list[str] = []
        for scalar in scalars:
            try:
                return scalar(cast(object, value), place)
            except Unreadable as problem:
                problems.append(str(problem).rpartition(", not ")[2])
        expected = " or ".join(problems) or f"one of {', '.join(classes)}"
        raise Unreadable(f"{place} is {cast(object, value)!r:.60}, not {expected}")

    return read_union


def _optional_reader(reader: _Reader) -> _Reader:
    def read_optional(value: object, place: str) -> object:
        return None if value is None else reader(value, place)

    return read_optional


def _read_condition(value: object, place: str) -> object:
    """Conditions hold conditions, so their reader is looked up only when it is used."""
    return _condition_reader()(value, place)


@cache
def _condition_reader() -> _Reader:
    return _union_reader(CONDITIONS)


def _tuple_reader(item: _Reader) -> _Reader:
    def read_tuple(value: object, place: str) -> object:
        if not isinstance(value, list):
            raise Unreadable(f"{place} is {value!r:.60}, not a list")
        items = cast("list[object]", value)
        return tuple(item(one, f"{place}[{index}]") for index, one in enumerate(items))

    return read_tuple


def _mapping_reader(key: _Reader, item: _Reader) -> _Reader:
    def read_mapping(value: object, place: str) -> object:
        pairs = _object(value, place).items()
        return MappingProxyType({key(name, place): item(one, f"{place}.{name}") for name, one in pairs})

    return read_mapping


def _json_mapping(value: object, place: str) -> object:
    try:
        return frozen_json(place, _object(value, place))
    except EndstopError as error:
        raise Unreadable(str(error)) from None


def _dataclass_reader(kind: type) -> _Reader:
    hints = get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind) if field.init}
    required = {
        field.name
        for field in fields(kind)
        if field.init and field.default is MISSING and field.default_factory is MISSING
    }

    def read_dataclass(value: object, place: str) -> object:
        given = _object(value, place)
        missing = required - given.keys()
        if missing:
            raise Unreadable(f"{place} lacks {', '.join(sorted(missing))}")
        arguments = {
            name: reader(given[name], f"{place}.{name}") for name, reader in readers.items() if name in given
        }
        try:
            return kind(**arguments)
        except EndstopError as error:
            raise Unreadable(f"{place}: {error}") from None

    return read_dataclass


def _enum_reader(kind: type[Enum]) -> _Reader:
    def read_enum(value: object, place: str) -> object:
        try:
            return kind(value)
        except ValueError:
            raise Unreadable(
                f"{place} is {value!r:.60}, not one of {', '.join(str(one.value) for one in kind)}"
            ) from None

    return read_enum


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise Unreadable(f"{place} is {value!r:.60}, not an object")
    return cast("dict[str, object]", value)


def _scalar(name: str, *accepted: type) -> _Reader:
    def read_scalar(value: object, place: str) -> object:
        if type(value) not in accepted:
            raise Unreadable(f"{place} is {value!r:.60}, not {name}")
        return value

    return read_scalar


def _read_float(value: object, place: str) -> float:
    try:
        number = float(cast("float", value)) if type(value) in (int, float) else None
    except OverflowError:
        number = None
    if number is None or not isfinite(number):
        raise Unreadable(f"{place} is {value!r:.60}, not a number")
    return number


def _read_decimal(value: object, place: str) -> Decimal:
    try:
        amount = Decimal(value) if isinstance(value, str) else None
    except ArithmeticError:
        amount = None
    if amount is None or not amount.is_finite():
        raise Unreadable(f"{place} is {value!r:.60}, not an amount of money as text")
    return amount


_SCALARS: Mapping[type, _Reader] = {
    bool: _scalar("true or false", bool),
    int: _scalar("a whole number", int),
    str: _scalar("text", str),
    float: _read_float,
    Decimal: _read_decimal,
}
