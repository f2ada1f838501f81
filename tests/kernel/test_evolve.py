"""Frozen dataclasses made and changed cheaply: the same as without, only cheaper."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from inspect import signature
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.evolve import draft, draft_class, evolve, maker, quick
from endstop.kernel.ledger import Account

ACCOUNT = Account(id="run", budget=Budget(turns=3), holds={"call": Amounts(tokens=1)})


@dataclass(frozen=True, slots=True)
class Slotted:
    number: int


@dataclass(frozen=True, kw_only=True)
class WithoutSlots:
    number: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Plain:
    """What ``Quick`` is without being quick. Its names are ones a constructor might trip over."""

    type: str
    kind: int = 7
    new: list[int] = field(default_factory=list[int])
    fixed: int = field(init=False, default=3)
    made: list[int] = field(init=False, default_factory=list[int])
    double: int = field(init=False)
    last: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.kind)


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    type: str
    kind: int = 7
    new: list[int] = field(default_factory=list[int])
    fixed: int = field(init=False, default=3)
    made: list[int] = field(init=False, default_factory=list[int])
    double: int = field(init=False)
    last: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.kind)


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Hashable:
    number: int
    text: str = ""


class Descendant(Hashable):
    """Somebody's subclass, which says nothing of slots and so has a place for anything."""


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


def test_a_class_without_slots_can_be_evolved_too() -> None:
    assert evolve(WithoutSlots(number=1, text="a"), number=2) == WithoutSlots(number=2, text="a")


def test_a_field_that_does_not_exist_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        evolve(ACCOUNT, colour="red")


GIVEN: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 1), {"last": "z"}),
    (("a",), {"new": [1], "kind": 2}),
    ((), {"type": "b"}),
]
REFUSED: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    (("a", 1, [], "z"), {}),
    (("a",), {"more": 1}),
]


@pytest.mark.parametrize(("places", "names"), GIVEN)
def test_a_quick_class_makes_what_the_plain_one_makes(places: tuple[Any, ...], names: dict[str, Any]) -> None:
    made, plain = Quick(*places, **names), Plain(*places, **names)
    assert repr(made) == repr(plain).replace("Plain", "Quick")
    assert type(made) is Quick
    assert made == Quick(*places, **names)


@pytest.mark.parametrize(("places", "names"), REFUSED)
def test_a_quick_class_refuses_what_the_plain_one_refuses(
    places: tuple[Any, ...], names: dict[str, Any]
) -> None:
    for kind in (Quick, Plain):
        with pytest.raises(TypeError):
            kind(*places, **names)


@pytest.mark.parametrize(("places", "names"), GIVEN)
def test_a_maker_makes_what_its_class_makes(places: tuple[Any, ...], names: dict[str, Any]) -> None:
    made = maker(Quick)(*places, **names)
    assert made == Quick(*places, **names)
    assert type(made) is Quick
    with pytest.raises(FrozenInstanceError):
        made.kind = 1  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(("places", "names"), REFUSED)
def test_a_maker_refuses_what_its_class_refuses(places: tuple[Any, ...], names: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        maker(Quick)(*places, **names)


def test_a_maker_checks_what_its_class_checks() -> None:
    with pytest.raises(InvalidValueError, match=r"^tokens is -1"):
        maker(Amounts)(tokens=-1)


def test_a_quick_class_is_called_like_the_plain_one() -> None:
    assert str(signature(Quick)) == str(signature(Plain))


def test_what_a_factory_makes_is_not_shared() -> None:
    first, second = Quick("a"), Quick("a")
    assert first.new is not second.new
    assert first.made is not second.made


def test_a_quick_value_is_frozen() -> None:
    value = Hashable(number=1)
    with pytest.raises(FrozenInstanceError):
        value.number = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        del value.number  # pyright: ignore[reportAttributeAccessIssue]


def test_a_quick_value_can_be_hashed_copied_pickled_and_replaced() -> None:
    value = Hashable(number=1, text="a")
    assert hash(value) == hash(Hashable(number=1, text="a"))
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert replace(value, number=2) == Hashable(number=2, text="a")


def test_a_subclass_of_a_quick_class_stays_what_it_is() -> None:
    value = Descendant(number=1)
    assert type(value) is Descendant
    assert (value.number, value.text) == (1, "")
    assert value != Hashable(number=1)


def test_a_draft_can_be_changed_until_it_takes_on_its_class() -> None:
    value = Hashable(number=1, text="a")
    changed = draft(value)
    changed.number = 2
    changed.__class__ = Hashable
    assert (value, changed) == (Hashable(number=1, text="a"), Hashable(number=2, text="a"))
    with pytest.raises(FrozenInstanceError):
        changed.number = 3


def test_an_empty_draft_becomes_a_value_once_its_fields_are_set() -> None:
    made = draft_class(Hashable)()
    made.number, made.text = 1, "a"
    made.__class__ = Hashable
    assert made == Hashable(number=1, text="a")
