"""What a tree gives to a registered function, against what the function takes."""

from __future__ import annotations

import inspect
import re
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from functools import lru_cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from endstop.errors import brief
from endstop.kernel.texts import closest
from endstop.tree.leaves import Leaf
from endstop.tree.parameters import is_number

_KEY = re.compile(r"\$([A-Za-z_]\w*)\Z")
_MANY = (list, dict, Sequence, MutableSequence, Collection, Iterable, Mapping, MutableMapping)
_SIMPLE: Mapping[str, Any] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "None": NoneType
}  # fmt: skip


def key_named(value: object) -> str | None:
    """The key that a text such as ``"$key"`` stands for."""
    found = _KEY.match(value) if isinstance(value, str) else None
    return None if found is None else found[1]


def keys_named(arguments: object) -> Iterator[str]:
    """All keys that stand in arguments, however deep."""
    waiting = [arguments]
    while waiting:
        value = waiting.pop()
        key = key_named(value)
        if key is not None:
            yield key
        elif isinstance(value, dict):
            waiting.extend(reversed(cast("dict[str, object]", value).values()))
        elif isinstance(value, list):
            waiting.extend(reversed(cast("list[object]", value)))


def argument_problems(leaf: Leaf, arguments: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What is wrong with the arguments of a leaf, and what to do about it."""
    for name in arguments:
        if name not in leaf.parameters:
            meant = closest(str(name), leaf.parameters)
            taken = ", ".join(leaf.parameters) or "none"
            to_do = f"Perhaps {meant!r} was meant" if meant else f"It takes: {taken}"
            yield f"{leaf.name!r} takes no argument {name!r}", to_do
    hints = _hints(leaf)
    for name, parameter in leaf.parameters.items():
        if name not in arguments:
            if parameter.default is inspect.Parameter.empty:
                yield f"{leaf.name!r} needs the argument {name!r}", "Give it in args"
        elif not _fits(arguments[name], hints.get(name, Any)):
            takes = inspect.formatannotation(hints[name])
            yield f"The argument {name!r} of {leaf.name!r} is {brief(arguments[name])}", f"It takes: {takes}"


def _hints(leaf: Leaf) -> Mapping[str, Any]:
    """The types of a leaf's parameters, as far as they can be known: a name in them may be out of reach."""
    try:
        return _all_hints(leaf.function)
    except Exception:  # noqa: BLE001 - annotations are somebody's code, and may say anything
        return {name: _simple(parameter.annotation) for name, parameter in leaf.parameters.items()}


@lru_cache(maxsize=1_000)
def _all_hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Read once: annotations are text, and a tree names the same leaf many times."""
    return MappingProxyType(get_type_hints(function))


def _simple(annotation: object) -> Any:
    """The type that an annotation names, if it is as simple as ``str`` or ``int | None``."""
    if not isinstance(annotation, str):
        return annotation
    types: list[Any] = [_SIMPLE.get(part.strip(), Any) for part in annotation.split("|")]
    return Any if Any in types else Union[tuple(types)]  # noqa: UP007 - made while running


def _fits(value: object, hint: Any) -> bool:
    """Whether a plain value may be given where this type stands. What is not simple is not judged."""
    if key_named(value) is not None:
        return True
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return any(value == one and type(value) is type(one) for one in get_args(hint))
    if origin in _MANY or hint in _MANY:
        return isinstance(value, origin or hint)
    if hint is float:
        return is_number(value)
    if hint is int:
        return is_number(value) and not isinstance(value, float)
    return isinstance(value, hint) if hint in (str, bool, NoneType) else True
