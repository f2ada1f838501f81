"""Frozen values, made and changed cheaply.

A frozen dataclass refuses to have its fields set, so its constructor goes around its own refusal, field by
field; on the hot path of every observation that was most of the cost. ``quick`` gives such a class a twin
with the same slots that does not refuse: the *draft*. A new value begins as a draft, has its fields set
plainly, and becomes what it is by taking on its class, before anybody else has seen it. From then on it is
frozen like any other.

Calling a class by keyword is dear in itself, whatever its constructor does. ``maker`` gives a plain function
that takes the same arguments and makes the same value, for where many are made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any, ParamSpec, TypeVar, cast

_T = TypeVar("_T")
_P = ParamSpec("_P")


class _Factory:
    """Stands for the default of a field that is made anew for each value, as ``dataclasses`` shows it."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def quick(kind: type[_T]) -> type[_T]:
    """The same frozen dataclass (with slots), with a constructor that costs less than half."""
    draft = type(
        f"{kind.__name__}Draft",
        (kind,),
        {
            "__slots__": (),
            "__init__": object.__init__,
            "__setattr__": object.__setattr__,
            "__delattr__": object.__delattr__,
        },
    )
    made = _compiled(kind, draft)
    made["__init__"].__qualname__ = f"{kind.__qualname__}.__init__"
    made["__init__"].__annotations__ = kind.__init__.__annotations__
    kind.__init__ = made["__init__"]
    quickened = cast(Any, kind)
    quickened.__draft__ = made["__draft__"]
    quickened.__make__ = staticmethod(made["__make__"])
    quickened.__draft_class__ = draft
    return kind


def maker(kind: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that makes values of a quick class, checks included, at less than half the cost."""
    return cast(Any, kind).__make__


def draft_class(kind: type) -> Callable[[], Any]:
    """The twin of a quick class. A draft of it is empty: set every field, then its ``__class__``."""
    return cast(Any, kind).__draft_class__


def draft(value: Any) -> Any:
    """A copy of a quick value that can still be changed. Set its ``__class__`` before handing it out."""
    return value.__draft__()


def evolve(value: _T, **changes: Any) -> _T:
    """``value`` with some fields changed; checks are not run again. For quick classes, and for frozen
    dataclasses without slots."""
    given: Any = value
    if not hasattr(given, "__draft__"):
        following = object.__new__(type(value))
        following.__dict__.update(value.__dict__, **changes)
        return following
    following = given.__draft__()
    for name, changed in changes.items():
        setattr(following, name, changed)
    following.__class__ = type(value)
    return following


def _compiled(kind: type, draft: type) -> dict[str, Any]:
    """The constructor and the copier of a class, written out field by field as ``dataclasses`` does it."""
    own = fields(cast(Any, kind))
    given = [field for field in own if field.init]
    is_filled = [field for field in own if field.init or _has_default(field)]
    has_post_init = hasattr(kind, "__post_init__")
    lines = [
        f"def __init__({', '.join(_parameters(given))}):",
        " if self.__class__ is not _kind:",  # somebody's subclass, which may be laid out differently
        f"  return _plain_init(self, {', '.join(f'{field.name}={field.name}' for field in given)})",
        " _set_class(self, _draft)",
        *(f" self.{field.name} = {_value(field)}" for field in is_filled),
        " self.__class__ = _kind",
        *([" self.__post_init__()"] if has_post_init else []),
        f"def __make__({', '.join(_parameters(given)[1:])}):",
        " _made = _draft()",
        *(f" _made.{field.name} = {_value(field)}" for field in is_filled),
        " _made.__class__ = _kind",
        *([" _made.__post_init__()"] if has_post_init else []),
        " return _made",
        "def __draft__(self):",
        " _copy = _draft()",
        *(f" _copy.{field.name} = self.{field.name}" for field in own),
        " return _copy",
    ]
    names: dict[str, Any] = {
        "_kind": kind,
        "_draft": draft,
        "_set_class": object.__dict__["__class__"].__set__,
        "_plain_init": kind.__init__,
        "_FACTORY": _FACTORY,
        **{f"_default_{field.name}": field.default for field in own if field.default is not MISSING},
        **{f"_make_{field.name}": field.default_factory for field in own},
    }
    exec("\n".join(lines), names)
    return names


def _parameters(given: list[Field[Any]]) -> list[str]:
    by_place = [_parameter(field) for field in given if not field.kw_only]
    by_name = [_parameter(field) for field in given if field.kw_only]
    return ["self", *by_place, *(["*"] if by_name else []), *by_name]


def _parameter(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return f"{field.name}=_default_{field.name}"
    return field.name if field.default_factory is MISSING else f"{field.name}=_FACTORY"


def _value(field: Field[Any]) -> str:
    """What the constructor sets a field to."""
    if field.default_factory is not MISSING:
        made = f"_make_{field.name}()"
        return f"{made} if {field.name} is _FACTORY else {field.name}" if field.init else made
    return field.name if field.init else f"_default_{field.name}"


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING
