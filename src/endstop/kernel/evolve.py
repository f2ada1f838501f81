"""The next value of a frozen dataclass, cheaply.

``dataclasses.replace`` runs the constructor again, field by field; on the hot path of every observation that
was most of the cost. The classes changed here keep their fields in ``__dict__`` (no slots) and have no
validation to run: a copy of the dictionary is the same value.
"""

from __future__ import annotations

from typing import Any, TypeVar

_T = TypeVar("_T")


def evolve(value: _T, **changes: Any) -> _T:
    """``value`` with some fields changed. Only for frozen dataclasses without slots and without checks."""
    following = object.__new__(type(value))
    fields = following.__dict__
    fields.update(value.__dict__)
    fields.update(changes)
    return following
