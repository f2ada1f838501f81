"""What may stand on a blackboard: values that JSON can say, copied so that nobody shares them, weighed."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from types import NoneType
from typing import cast

from endstop.errors import InvalidValueError
from endstop.tree.spec import KeyType, PlainValue

MOST_LEVELS = 16
"""Lists and maps in each other. Deeper ones could not be written into a record."""

_LARGEST_WHOLE = 2**63 - 1
_JSON_ONLY = "text, finite numbers, true, false, nothing, lists, and maps with text keys"
_KEEP_PLAIN = "Keep it plain: it is copied, weighed, and written into the record"

_TYPES: Mapping[KeyType, tuple[tuple[type, ...], str]] = {
    KeyType.STRING: ((str,), "text"),
    KeyType.INTEGER: ((int,), "a whole number"),
    KeyType.NUMBER: ((int, float), "a number"),
    KeyType.BOOLEAN: ((bool,), "true or false"),
    KeyType.LIST: ((list,), "a list"),
    KeyType.MAP: ((dict,), "a map"),
}
_LIGHT: Mapping[KeyType, frozenset[type]] = {
    KeyType.ANY: frozenset({NoneType, bool, str}),
    KeyType.STRING: frozenset({NoneType, str}),
    KeyType.BOOLEAN: frozenset({NoneType, bool}),
    KeyType.INTEGER: frozenset({NoneType, int}),
    KeyType.NUMBER: frozenset({NoneType, int}),
    KeyType.LIST: frozenset({NoneType}),
    KeyType.MAP: frozenset({NoneType}),
}
_SMALL = 2**31


class TooLargeError(Exception):
    """The value weighs more than there is room for. ``bytes`` is what was counted till then."""

    def __init__(self, counted: int) -> None:
        super().__init__(counted)
        self.bytes = counted


def weighed(field: str, value: object, *, most_bytes: int) -> tuple[PlainValue, int]:
    """A copy of ``value`` with nothing but plain values in it, and about how many bytes its JSON text has."""
    weighing = _Weighing(field, most_bytes)
    plain = weighing.taken(value, 0)
    return plain, weighing.bytes


def light_bytes(value: object, key_type: KeyType) -> int | None:
    """What ``weighed`` would say of a value that plainly is of this type; None if it takes a closer look."""
    kind = type(value)
    if kind not in _LIGHT[key_type]:
        return None
    if kind is str:
        text = cast("str", value)
        return 2 + len(text) if text.isascii() else None
    if kind is int:
        number = cast("int", value)
        return 1 + number.bit_length() // 3 if -_SMALL < number < _SMALL else None
    return 4


def copied(value: PlainValue) -> PlainValue:
    """A copy that shares no list or map with the value."""
    if type(value) is list:
        return [copied(item) for item in value]
    if type(value) is dict:
        return {name: copied(item) for name, item in value.items()}
    return value


def require_type(field: str, value: PlainValue, key_type: KeyType) -> None:
    """Nothing is of every type; true and false are no numbers."""
    if value is None or key_type is KeyType.ANY:
        return
    types, words = _TYPES[key_type]
    if type(value) not in types:
        raise InvalidValueError(field, value, allowed=f"{words}, or nothing")


class _Weighing:
    """One walk through a value. It ends as soon as there is too much, so that its cost is bounded, too."""

    __slots__ = ("_field", "_most_bytes", "bytes")

    def __init__(self, field: str, most_bytes: int) -> None:
        self._field = field
        self._most_bytes = most_bytes
        self.bytes = 0

    def taken(self, value: object, depth: int) -> PlainValue:
        match value:
            case None | bool():
                self._add(4)
                return value
            case str():
                return self._text(value)
            case int():
                return self._whole(value)
            case float():
                return self._number(value)
            case list() | tuple():
                self._go_down(depth)
                return [self.taken(item, depth + 1) for item in cast("list[object]", value)]
            case Mapping():
                self._go_down(depth)
                items = cast("Mapping[object, object]", value).items()
                return {self._name(name): self.taken(item, depth + 1) for name, item in items}
            case _:
                raise InvalidValueError(self._field, value, allowed=_JSON_ONLY, to_do=_KEEP_PLAIN)

    def _add(self, more: int) -> None:
        self.bytes += more
        if self.bytes > self._most_bytes:
            raise TooLargeError(self.bytes)

    def _text(self, value: str) -> str:
        text = value if type(value) is str else str.__str__(value)
        self._add(2 + (len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))))
        return text

    def _whole(self, value: int) -> int:
        if not -_LARGEST_WHOLE <= value <= _LARGEST_WHOLE:
            raise InvalidValueError(self._field, "a whole number of more than 64 bits", allowed="64 bits")
        self._add(1 + value.bit_length() // 3)
        return int(value)

    def _number(self, value: float) -> float:
        if not isfinite(value):
            raise InvalidValueError(self._field, value, allowed=_JSON_ONLY, to_do=_KEEP_PLAIN)
        self._add(8)
        return float(value)

    def _go_down(self, depth: int) -> None:
        if depth >= MOST_LEVELS:
            raise InvalidValueError(
                self._field, "nested too deep", allowed=f"at most {MOST_LEVELS} levels of lists and maps"
            )
        self._add(2)

    def _name(self, name: object) -> str:
        if not isinstance(name, str):
            raise InvalidValueError(self._field, name, allowed=_JSON_ONLY, to_do=_KEEP_PLAIN)
        return self._text(name)
