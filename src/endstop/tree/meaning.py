"""What an expression means: functions that look at the blackboard and answer, or find that nobody can know.

``expression`` reads the text and puts these together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import add, ge, gt, le, lt, mul, sub
from typing import Any, TypeAlias, cast

MOST = 10**15
"""Numbers past this, either way, are unknown: so no product grows for ever, and whole ones stay exact."""

Get: TypeAlias = Callable[[str], object]
Value: TypeAlias = Callable[[Get], Any]
"""A part of an expression, ready to be asked."""
Operator: TypeAlias = Callable[[Any, Any], Any]

_ORDERS: Mapping[str, Operator] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_EQUALITIES = frozenset({"==", "~=", "!="})
COMPARISONS = _EQUALITIES | frozenset(_ORDERS) | {"in"}
SUMS: Mapping[str, Operator] = {"+": add, "-": sub}
PRODUCTS: Mapping[str, Operator] = {"*": mul, "/": lambda first, second: first / second}

_NUMBERS = frozenset({int, float})
_SINGLE = _NUMBERS | {str, bool, type(None)}


class _UnknownError(Exception):
    """There is no answer: the whole expression is false."""


def is_true(value: object) -> bool:
    """As in Lua: nothing and false are not, all else is, zero and the empty text too."""
    return value is not None and value is not False


def constant(value: object) -> Value:
    return lambda _get: value


def entry(key: str, path: tuple[str, ...]) -> Value:
    """What a map holds: nil where it has no such entry, unknown where it is no map."""

    def value(get: Get) -> object:
        found = get(key)
        for name in path:
            if not isinstance(found, Mapping):
                raise _UnknownError
            found = cast("Mapping[str, object]", found).get(name)
        return found

    return value


def first_of(sides: list[Value], *, wanted: bool) -> Value:
    """The first side that is true (``or``) or is not (``and``), else the last. The rest is not looked at."""
    if len(sides) == 1:
        return sides[0]
    *others, last = sides

    def value(get: Get) -> object:
        for side in others:
            found = side(get)
            if (found is not None and found is not False) is wanted:
                return found
        return last(get)

    return value


def comparison(operator: str, left: Value, right: Value) -> Value:
    if operator == "in":
        return lambda get: _is_among(left(get), right(get))
    if operator == "==":
        return lambda get: _is_same(left(get), right(get))
    if operator in _EQUALITIES:
        return lambda get: not _is_same(left(get), right(get))
    order = _ORDERS[operator]

    def value(get: Get) -> bool:
        first, second = left(get), right(get)
        if type(first) is str and type(second) is str:
            return order(first, second)
        return order(number(first), number(second))

    return value


def arithmetic(first: Value, rest: Iterable[tuple[Operator, Value]]) -> Value:
    def value(get: Get) -> object:
        result = number(first(get))
        for operator, part in rest:
            result = number(operator(result, number(part(get))))
        return result

    return value


def number(value: object) -> Any:
    if (type(value) is int or type(value) is float) and -MOST <= value <= MOST:
        return value
    raise _UnknownError


def how_many(value: object) -> int:
    if isinstance(value, str | list | tuple | Mapping):
        return len(cast("str", value))
    raise _UnknownError


def _is_same(first: object, second: object) -> bool:
    """Whether two plain values are equal; of two lists or maps nobody knows, for it could take long."""
    kind, other = type(first), type(second)
    if kind not in _SINGLE and other not in _SINGLE:
        raise _UnknownError
    return (kind is other or (kind in _NUMBERS and other in _NUMBERS)) and first == second


def _is_among(value: object, items: object) -> bool:
    if type(value) not in _SINGLE or not isinstance(items, list | tuple):
        raise _UnknownError
    return any(_is_same(value, item) for item in cast("list[object]", items))
