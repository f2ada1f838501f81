"""Limits and meters: the exact arithmetic of thresholds and turns, and values as people read them."""

from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import pytest

from endstop.errors import InvalidValueError
from endstop.kernel.limits import (
    LIMIT_FACTS,
    Limit,
    LimitKind,
    Meter,
    Number,
    fraction,
    minus,
    money,
    plus,
    shown,
    warning_value,
    whole,
)


def turns_meter(used: int, maximum: int, *, warn_at: float | None = 0.70) -> Meter:
    """A run's meter of turns, which holds back one turn to close with."""
    return Meter(kind=LimitKind.TURNS, used=used, maximum=maximum, warn_at=warn_at, finish=1)


@pytest.mark.guarantee("A1")
def test_there_are_facts_about_every_kind_of_limit() -> None:
    assert tuple(LIMIT_FACTS) == tuple(LimitKind)


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (LimitKind.TURNS, 0.70),
        (LimitKind.TOKENS, 0.80),
        (LimitKind.CONTEXT_TOKENS, 0.70),
        (LimitKind.MODEL_CALLS, None),
        (LimitKind.COST_USD, None),
        (LimitKind.SECONDS, None),
        (LimitKind.TOOL_CALLS_PER_TURN, None),
        (LimitKind.PARALLEL_TOOLS, None),
    ],
)
def test_the_default_warning_thresholds_are_those_of_the_requirements(
    kind: LimitKind, default: float | None
) -> None:
    assert LIMIT_FACTS[kind].default_warn_at == default


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize(
    ("max_turns", "warn_at", "threshold_turn"),
    [
        (1, 0.70, 0),
        (2, 0.70, 1),
        (3, 0.70, 2),
        (5, 0.70, 3),
        (10, 0.70, 7),
        (30, 0.70, 21),
        (100, 0.70, 70),
        (10, 0.0, 0),
        (10, 0.5, 5),
        (7, 0.5, 3),
        (10, 1.0, 10),
    ],
)
def test_the_threshold_turn_is_the_whole_part_of_the_product(
    max_turns: int, warn_at: float, threshold_turn: int
) -> None:
    limit = Limit(kind=LimitKind.TURNS, maximum=max_turns, warn_at=warn_at)
    assert limit.warning_value == threshold_turn == int(max_turns * warn_at)


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("warn_at", [0.5, 0.7, 0.8, 0.9])
def test_the_threshold_turn_follows_the_formula_for_every_size(warn_at: float) -> None:
    for max_turns in range(1, 1_001):
        assert warning_value(max_turns, warn_at) == int(max_turns * warn_at)


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize(
    ("kind", "maximum", "warn_at", "due_at"),
    [
        (LimitKind.TOKENS, 200_000, 0.80, 160_000),
        (LimitKind.TOKENS, 7, 0.80, 5),
        (LimitKind.COST_USD, Decimal("0.50"), 0.80, Decimal("0.40")),
        (LimitKind.COST_USD, Decimal("0.10"), 0.7, Decimal("0.07")),
        (LimitKind.SECONDS, 60.0, 0.5, 30.0),
        (LimitKind.SECONDS, 0.5, 0.5, 0.25),
    ],
)
def test_money_and_time_warn_at_the_exact_fraction(
    kind: LimitKind, maximum: Number, warn_at: float, due_at: Number
) -> None:
    assert Limit(kind=kind, maximum=maximum, warn_at=warn_at).warning_value == due_at


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize(
    ("used", "maximum", "is_due"),
    [
        *[(2, 5, False), (3, 5, True), (4, 5, True)],
        *[(6, 10, False), (7, 10, True), (8, 10, True)],
        *[(20, 30, False), (21, 30, True), (22, 30, True)],
        *[(0, 1, True), (1, 1, True)],
    ],
)
def test_a_warning_is_due_from_the_threshold_turn_on(used: int, maximum: int, is_due: bool) -> None:
    assert turns_meter(used, maximum).is_warning_due is is_due


@pytest.mark.guarantee("A2")
def test_without_a_threshold_no_warning_is_ever_due() -> None:
    meter = turns_meter(30, 30, warn_at=None)
    assert not meter.is_warning_due
    assert Limit(kind=LimitKind.TURNS, maximum=30).warning_value is None


@pytest.mark.guarantee("A3")
@pytest.mark.parametrize(
    ("turn", "max_turns", "is_reached", "is_last", "remaining"),
    [
        (0, 30, False, False, 30),
        (28, 30, False, False, 2),
        (29, 30, False, True, 1),
        (30, 30, True, False, 0),
        (31, 30, True, False, 0),
        (0, 2, False, False, 2),
        (1, 2, False, True, 1),
        (0, 1, False, True, 1),
        (1, 1, True, False, 0),
    ],
)
def test_turns_remain_below_the_maximum_and_the_one_before_it_is_the_last(
    turn: int, max_turns: int, is_reached: bool, is_last: bool, remaining: int
) -> None:
    meter = turns_meter(turn, max_turns)
    assert (meter.is_reached, meter.is_last, meter.remaining) == (is_reached, is_last, remaining)


@pytest.mark.guarantee("A4")
@pytest.mark.parametrize(
    ("used", "is_last"), [(0, False), (949, False), (950, True), (999, True), (1_000, False), (1_200, False)]
)
def test_the_last_turn_is_due_when_only_what_is_held_back_remains(used: int, is_last: bool) -> None:
    meter = Meter(kind=LimitKind.TOKENS, used=used, maximum=1_000, finish=50)
    assert meter.is_last is is_last


@pytest.mark.guarantee("A4")
def test_a_limit_that_holds_nothing_back_has_no_last_turn() -> None:
    assert not Meter(kind=LimitKind.CONTEXT_TOKENS, used=999, maximum=1_000).is_last


@pytest.mark.parametrize(
    ("used", "maximum", "percent"),
    [
        (0, 30, 0.0),
        (7, 10, 70.0),
        (1, 3, 33.3),
        (30, 30, 100.0),
        (45, 30, 150.0),
        (Decimal("0.40"), Decimal("0.50"), 80.0),
        (61.0, 60.0, 101.7),
        (0, 0, 100.0),
    ],
)
def test_percent_is_rounded_to_one_place_and_a_limit_of_nothing_is_full(
    used: Number, maximum: Number, percent: float
) -> None:
    assert Meter(kind=LimitKind.TOKENS, used=used, maximum=maximum).percent == percent


def test_what_remains_is_never_below_zero() -> None:
    assert Meter(kind=LimitKind.COST_USD, used=Decimal("0.51"), maximum=Decimal("0.50")).remaining == 0


@pytest.mark.guarantee("I2")
@pytest.mark.parametrize(
    ("kind", "used", "maximum", "text"),
    [
        (LimitKind.TURNS, 7, 10, "7/10"),
        (LimitKind.TOKENS, 160_000, 200_000, "160,000/200,000"),
        (LimitKind.MODEL_CALLS, 1_000, 2_000, "1,000/2,000"),
        (LimitKind.CONTEXT_TOKENS, 70_000, 100_000, "70,000/100,000"),
        (LimitKind.COST_USD, Decimal("0.40"), Decimal("0.50"), "$0.40/$0.50"),
        (LimitKind.COST_USD, Decimal(0), Decimal(10), "$0.00/$10.00"),
        (LimitKind.COST_USD, Decimal("1234.5"), Decimal(10_000), "$1,234.50/$10,000.00"),
        (LimitKind.SECONDS, 61.0, 60.0, "61 s/60 s"),
        (LimitKind.SECONDS, 9.5, 3_600.0, "9.5 s/3,600 s"),
        (LimitKind.SECONDS, 2.0, 2.5, "2 s/2.5 s"),
        (LimitKind.SECONDS, 9.9, 10.4, "9.9 s/10.4 s"),
    ],
)
def test_a_meter_reads_as_people_write_it(kind: LimitKind, used: Number, maximum: Number, text: str) -> None:
    assert Meter(kind=kind, used=used, maximum=maximum).shown == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0.00"),
        ("0.5", "0.50"),
        ("0.12", "0.12"),
        ("1", "1.00"),
        ("1.239", "1.24"),
        ("1234567.891", "1,234,567.89"),
        ("0.1234567", "0.123457"),
        ("0.9999999", "1.00"),
        ("0.0123", "0.0123"),
        ("0.000001", "0.000001"),
    ],
)
def test_dollars_are_shown_with_at_least_two_places_and_more_for_small_sums(value: str, text: str) -> None:
    assert money(Decimal(value)) == text


@pytest.mark.parametrize("value", ["0.01", "0.0001", "0.000001", "0.0000001", "0.000000000001"])
def test_a_cost_that_is_not_zero_is_never_shown_as_zero(value: str) -> None:
    assert float(money(Decimal(value))) > 0


@pytest.mark.parametrize("value", [0.001, 0.02, 0.04])
def test_a_time_that_is_not_zero_is_never_shown_as_zero(value: float) -> None:
    assert float(shown(LimitKind.SECONDS, value).removesuffix(" s")) > 0


@pytest.mark.parametrize(
    ("first", "second", "total", "difference"),
    [
        (7, 3, 10, 4),
        (Decimal("0.3"), Decimal("0.1"), Decimal("0.4"), Decimal("0.2")),
        (1.5, 0.5, 2.0, 1.0),
        (Decimal("0.3"), 0, Decimal("0.3"), Decimal("0.3")),
    ],
)
def test_amounts_of_one_kind_are_added_and_subtracted_exactly(
    first: Number, second: Number, total: Number, difference: Number
) -> None:
    assert (plus(first, second), minus(first, second)) == (total, difference)


@pytest.mark.parametrize("value", [1, 5, 10])
def test_a_whole_number_within_bounds_is_taken_as_it_is(value: int) -> None:
    assert whole("field", value, smallest=1, largest=10) == value


@pytest.mark.parametrize(
    "value", [0, 11, -1, 1.0, float("nan"), float("inf"), True, "5", None, Decimal(5), [5]]
)
def test_anything_but_a_whole_number_within_bounds_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        whole("field", value, smallest=1, largest=10, to_do="Choose another")
    assert str(caught.value) == f"field is {value!r}. Allowed: a whole number from 1 to 10. Choose another."
    assert (caught.value.field, caught.value.code) == ("field", "invalid_value")


@pytest.mark.parametrize(("value", "taken"), [(0, 0.0), (0.5, 0.5), (1, 1.0)])
def test_a_fraction_is_taken_as_a_float(value: float, taken: float) -> None:
    fractioned = fraction("field", value)
    assert fractioned == taken
    assert type(fractioned) is float


@pytest.mark.parametrize(
    "value",
    [-0.01, 1.01, float("nan"), float("inf"), float("-inf"), True, "0.5", None, Decimal("0.5"), 10**400],
)
def test_anything_but_a_number_from_zero_to_one_is_no_fraction(value: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"field is .*Allowed: a number from 0 to 1\."):
        fraction("field", value)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_too_long_to_be_written_out_is_refused_like_any_other(sign: int) -> None:
    value = sign * 10**5_000
    with pytest.raises(InvalidValueError, match="a whole number from 1 to 10"):
        whole("field", value, smallest=1, largest=10)


def test_limits_and_meters_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        turns_meter(1, 2).used = 0  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        Limit(kind=LimitKind.TURNS, maximum=1).maximum = 2  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("used", [59.96, 59.999])
def test_a_time_limit_that_is_not_reached_does_not_read_as_if_it_were(used: float) -> None:
    assert Meter(kind=LimitKind.SECONDS, used=used, maximum=60.0).shown == "59.9 s/60 s"
