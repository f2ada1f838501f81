"""Evolving a frozen dataclass: the same as ``dataclasses.replace``, only cheaper."""

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.evolve import evolve
from endstop.kernel.ledger import Account

ACCOUNT = Account(id="run", budget=Budget(turns=3), holds={"call": Amounts(tokens=1)})


@dataclass(frozen=True, slots=True)
class Slotted:
    number: int


def test_changed_fields_change_and_the_others_stay() -> None:
    evolved = evolve(ACCOUNT, settled=Amounts(turns=1), granted_s=2.0)
    assert evolved == Account(
        id="run",
        budget=Budget(turns=3),
        holds={"call": Amounts(tokens=1)},
        settled=Amounts(turns=1),
        granted_s=2.0,
    )


def test_the_original_stays_as_it_was() -> None:
    before = repr(ACCOUNT)
    evolve(ACCOUNT, settled=Amounts(turns=1), holds={})
    assert repr(ACCOUNT) == before


def test_without_changes_it_is_an_equal_value() -> None:
    assert evolve(ACCOUNT) == ACCOUNT


@given(turns=st.integers(0, 9), seconds=st.floats(0, 9), parent=st.none() | st.text())
def test_it_agrees_with_replace(turns: int, seconds: float, parent: str | None) -> None:
    settled = Amounts(turns=turns)
    evolved = evolve(ACCOUNT, settled=settled, granted_s=seconds, parent=parent)
    assert evolved == replace(ACCOUNT, settled=settled, granted_s=seconds, parent=parent)


def test_what_comes_out_is_frozen_as_well() -> None:
    with pytest.raises(FrozenInstanceError):
        evolve(ACCOUNT, parent="run").id = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_class_with_slots_is_refused_rather_than_half_copied() -> None:
    with pytest.raises(AttributeError):
        evolve(Slotted(1), number=2)
