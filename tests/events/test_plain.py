"""Frozen values as plain JSON values and back, by their type hints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType

import pytest

from endstop.events.plain import Unreadable, read, written
from endstop.kernel.budget import Budget
from endstop.kernel.conditions import AllOf, AnyOf, Condition, Idle, TurnsTaken
from endstop.kernel.limits import LimitKind
from endstop.kernel.outcome import Cancelled, Completed, Ending
from endstop.kernel.review import Approved, NeedsChanges, Rejected


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    """A field of every kind there is in a fact."""

    name: str
    count: int = 1
    ratio: float = 0.5
    price: Decimal = Decimal(0)
    is_open: bool = False
    colour: Colour = Colour.RED
    inner: Inner = Inner()
    inners: tuple[Inner, ...] = ()
    maybe: Inner | None = None
    either: int | str = 0
    names: tuple[str, ...] | None = None
    by_colour: Mapping[Colour, float | None] = field(default_factory=lambda: MappingProxyType({}))
    anything: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    worked_out: int = field(init=False, default=7)


FULL = Outer(
    name="a",
    count=2,
    ratio=0.25,
    price=Decimal("1.10"),
    is_open=True,
    colour=Colour.BLUE,
    inner=Inner(number=3),
    inners=(Inner(number=4), Inner(number=5)),
    maybe=Inner(number=6),
    either="six",
    names=("x", "y"),
    by_colour={Colour.RED: 0.5, Colour.BLUE: None},
    anything={"list": (1, "two", None), "object": {"deep": True}},
)
PLAIN = {
    "name": "a",
    "count": 2,
    "ratio": 0.25,
    "price": "1.10",
    "is_open": True,
    "colour": "blue",
    "inner": {"number": 3},
    "inners": [{"number": 4}, {"number": 5}],
    "maybe": {"number": 6},
    "either": "six",
    "names": ["x", "y"],
    "by_colour": {"red": 0.5, "blue": None},
    "anything": {"list": [1, "two", None], "object": {"deep": True}},
}


@pytest.mark.guarantee("H1")
def test_a_value_is_written_field_by_field_without_those_that_are_worked_out() -> None:
    assert written(FULL) == PLAIN


@pytest.mark.guarantee("H1")
def test_a_value_is_read_back_as_it_was() -> None:
    assert read(Outer, PLAIN, "it") == FULL


@pytest.mark.guarantee("H1")
def test_what_is_missing_gets_its_default() -> None:
    assert read(Outer, {"name": "a"}, "it") == Outer(name="a")


@pytest.mark.guarantee("H1")
def test_what_must_be_there_and_is_not_is_named() -> None:
    with pytest.raises(Unreadable, match=r"^it lacks name$"):
        read(Outer, {}, "it")


@pytest.mark.guarantee("H1")
def test_a_whole_number_is_a_number_too() -> None:
    ratio = read(Outer, {"name": "a", "ratio": 2}, "it").ratio
    assert (ratio, type(ratio)) == (2.0, float)


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("digits", ["0", "0.10", "1E-12", "123456789012345678901234567890.123", "-0.5"])
def test_money_keeps_every_digit(digits: str) -> None:
    value = read(Decimal, written(Decimal(digits)), "it")
    assert value.as_tuple() == Decimal(digits).as_tuple()


@pytest.mark.guarantee("H1")
def test_what_was_read_cannot_be_changed() -> None:
    value = read(Outer, PLAIN, "it")
    for mapping in (value.by_colour, value.anything, value.anything["object"]):
        assert isinstance(mapping, MappingProxyType)
    assert isinstance(value.anything["list"], tuple)


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize(
    ("name", "wrong", "place"),
    [
        ("count", "2", "it.count"),
        ("inner", {"number": "3"}, "it.inner.number"),
        ("inners", [{"number": 4}, {"number": None}], "it.inners[1].number"),
        ("maybe", {"number": 0.5}, "it.maybe.number"),
        ("maybe", 7, "it.maybe"),
        ("either", 0.5, "it.either"),
        ("by_colour", {"red": "much"}, "it.by_colour.red"),
        ("by_colour", {"green": 0.5}, "it.by_colour"),
        ("anything", [], "it.anything"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(name: str, wrong: object, place: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(Outer, PLAIN | {name: wrong}, "it")
    assert str(caught.value).startswith(f"{place} is ")


@pytest.mark.guarantee("I7")
def test_a_huge_wrong_value_is_shown_in_part() -> None:
    with pytest.raises(Unreadable) as caught:
        read(Outer, PLAIN | {"count": "9" * 10_000}, "it")
    assert len(str(caught.value)) < 120


@pytest.mark.guarantee("I7")
def test_what_the_value_itself_refuses_is_passed_on() -> None:
    with pytest.raises(Unreadable, match=r"^it: turns is 0\. Allowed: a whole number from 1"):
        read(Budget, {"turns": 0}, "it")


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("condition", [Idle(at_least=60.0), AllOf(conditions=(TurnsTaken(at_least=3),))])
def test_a_condition_says_which_it_is(condition: Condition) -> None:
    plain = written(AnyOf(conditions=(condition,)))
    assert isinstance(plain, dict)
    assert plain["is"] == "AnyOf"
    assert plain["conditions"] == [written(condition)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    outcome: Ending
    decision: Approved | NeedsChanges | Rejected | None = None


@pytest.mark.guarantee("H1")
def test_one_of_several_kinds_says_which_it_is() -> None:
    ended = Ended(outcome=Completed(answer="a"), decision=Rejected(by="ana", why="enough"))
    assert written(ended) == {
        "outcome": {"is": "Completed", "answer": "a", "warnings": []},
        "decision": {"is": "Rejected", "by": "ana", "why": "enough"},
    }


@pytest.mark.guarantee("H1")
def test_of_two_kinds_with_the_same_fields_the_one_that_is_named_is_read() -> None:
    plain = {"outcome": {"is": "Cancelled", "by": "ana", "answer": "b"}}
    assert read(Ended, plain, "it") == Ended(outcome=Cancelled(by="ana", answer="b"))


@pytest.mark.guarantee("H1")
def test_keys_that_are_names_are_written_as_text() -> None:
    assert written({LimitKind.TURNS: (1, 2)}) == {"turns": [1, 2]}
