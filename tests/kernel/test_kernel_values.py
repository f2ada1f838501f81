"""Everything the kernel hands out is a value: frozen, and made by naming its fields."""

from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import import_module
from inspect import getmembers, isclass
from typing import Any

import pytest

MODULES = [
    *(
        "account",
        "agent",
        "amounts",
        "bounds",
        "budget",
        "conditions",
        "escalation",
        "finding",
        "ledger",
        "limits",
    ),
    *("observation", "outcome", "review", "usage", "verdict"),
]

VALUES: list[Any] = [
    value
    for module in map(import_module, (f"endstop.kernel.{name}" for name in MODULES))
    for _, value in getmembers(module, isclass)
    if is_dataclass(value) and value.__module__ == module.__name__
]


@pytest.mark.parametrize("value", VALUES, ids=[value.__name__ for value in VALUES])
def test_no_field_of_a_value_can_be_set(value: Any) -> None:
    bare = object.__new__(value)
    for field in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(bare, field.name, None)


@pytest.mark.parametrize("value", VALUES, ids=[value.__name__ for value in VALUES])
def test_values_are_made_by_naming_their_fields(value: Any) -> None:
    by_place = [field.name for field in fields(value) if field.init and not field.kw_only]
    assert by_place == (["accounts"] if value.__name__ == "Ledger" else [])
