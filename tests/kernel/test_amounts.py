"""Amounts: what an entry in the ledger is made of. Never negative, and exact in money."""

from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError
from endstop.kernel.amounts import NOTHING, SPENT_KINDS, Amounts, dollars
from endstop.kernel.limits import LimitKind

SOME = Amounts(turns=1, model_calls=2, tokens=300, cost_usd=Decimal("0.40"))


def some_amounts() -> st.SearchStrategy[Amounts]:
    counts = st.integers(min_value=0, max_value=10**6)
    sums = st.decimals(min_value=0, max_value=1_000, places=12)
    return st.builds(Amounts, turns=counts, model_calls=counts, tokens=counts, cost_usd=sums)


@pytest.mark.guarantee("A1")
def test_turns_model_calls_tokens_and_dollars_are_what_is_spent() -> None:
    assert SPENT_KINDS == (LimitKind.TURNS, LimitKind.MODEL_CALLS, LimitKind.TOKENS, LimitKind.COST_USD)


@pytest.mark.parametrize(
    ("kind", "amount"),
    [
        (LimitKind.TURNS, 1),
        (LimitKind.MODEL_CALLS, 2),
        (LimitKind.TOKENS, 300),
        (LimitKind.COST_USD, Decimal("0.40")),
        (LimitKind.SECONDS, 0),
        (LimitKind.CONTEXT_TOKENS, 0),
    ],
)
def test_the_amount_of_a_kind_is_zero_for_what_is_never_spent(kind: LimitKind, amount: object) -> None:
    assert SOME.of(kind) == amount


@pytest.mark.parametrize(
    ("given_as", "kept"),
    [
        (Decimal("0.50"), "0.5"),
        ("0.50", "0.5"),
        (" 0.50 ", "0.5"),
        (1, "1"),
        (0.1, "0.1"),
        (100, "100"),
        ("1e2", "100"),
        ("-0", "0"),
        (0, "0"),
        (10**9, "1000000000"),
    ],
)
def test_money_is_taken_as_decimal_text_whole_number_or_float(given_as: Any, kept: str) -> None:
    assert str(dollars("cost_usd", given_as)) == kept
    assert Amounts(cost_usd=given_as).cost_usd == Decimal(kept)


@pytest.mark.parametrize(
    ("given_as", "kept"),
    [
        ("0.000000000001", "0.000000000001"),
        ("0.0000000000011", "0.000000000002"),
        ("0.0000000000000001", "0.000000000001"),
        ("1e-999999", "0.000000000001"),
        ("0.1234567890120001", "0.123456789013"),
        ("0.3333333333333333333333333333", "0.333333333334"),
    ],
)
@pytest.mark.parametrize("form", [str, Decimal])
def test_a_cost_is_kept_to_a_millionth_of_a_millionth_rounded_up(
    given_as: str, kept: str, form: type[str] | type[Decimal]
) -> None:
    assert dollars("cost_usd", form(given_as)) == Decimal(kept)
    assert Amounts(cost_usd=form(given_as)).cost_usd == Decimal(kept)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "bad",
    [
        -1,
        "-0.01",
        Decimal("-1e-12"),
        float("nan"),
        float("inf"),
        float("-inf"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        "NaN",
        "inf",
        "1e999999",
        10**10,
        pytest.param(10**5_000, id="5,001 digits"),
        True,
        "a dollar",
        "",
        "$0.50",
        None,
        [1],
        Fraction(1),
    ],
)
def test_what_is_not_an_amount_of_money_is_refused(bad: Any) -> None:
    for make in (lambda: dollars("cost_usd", bad), lambda: Amounts(cost_usd=bad)):
        with pytest.raises(InvalidValueError, match=r"^cost_usd is .*dollars from 0 to 1,000,000,000"):
            make()


@pytest.mark.parametrize("field", ["turns", "model_calls", "tokens"])
@pytest.mark.parametrize(
    "bad", [-1, -(10**20), 10**15 + 1, 10**20, 1.0, float("nan"), float("inf"), True, "1", None, Decimal(1)]
)
def test_what_is_not_a_count_is_refused_by_name(field: str, bad: Any) -> None:
    with pytest.raises(
        InvalidValueError, match=f"^{field} is .*a whole number from 0 to 1,000,000,000,000,000"
    ):
        Amounts(**{field: bad})


@pytest.mark.parametrize("field", ["turns", "model_calls", "tokens"])
def test_one_bad_count_among_good_ones_is_refused(field: str) -> None:
    given_as: dict[str, Any] = {"turns": 1, "model_calls": 1, "tokens": 1, "cost_usd": "0.5", field: -1}
    with pytest.raises(InvalidValueError, match=f"^{field} is -1"):
        Amounts(**given_as)


def test_a_difference_has_nothing_below_zero() -> None:
    more = Amounts(turns=2, model_calls=1, tokens=400, cost_usd=Decimal("0.10"))
    assert SOME.minus(more) == Amounts(model_calls=1, cost_usd=Decimal("0.30"))


def test_adding_and_taking_nothing_changes_nothing() -> None:
    assert SOME.plus(NOTHING) == SOME.minus(NOTHING) == SOME
    assert NOTHING.plus(SOME) == SOME
    assert NOTHING.minus(SOME) == NOTHING


@pytest.mark.parametrize(
    ("kinds", "kept"),
    [
        (SPENT_KINDS, SOME),
        ((), NOTHING),
        ((LimitKind.TURNS,), Amounts(turns=1)),
        ((LimitKind.MODEL_CALLS,), Amounts(model_calls=2)),
        ((LimitKind.TOKENS, LimitKind.COST_USD), Amounts(tokens=300, cost_usd=Decimal("0.40"))),
        ((LimitKind.SECONDS,), NOTHING),
    ],
)
def test_only_keeps_the_kinds_it_is_told(kinds: tuple[LimitKind, ...], kept: Amounts) -> None:
    assert SOME.only(kinds) == kept
    assert NOTHING.only(kinds) == NOTHING


@pytest.mark.parametrize(
    "amounts",
    [Amounts(turns=1), Amounts(model_calls=1), Amounts(tokens=1), Amounts(cost_usd=Decimal("1e-12"))],
)
def test_the_smallest_amount_is_not_nothing(amounts: Amounts) -> None:
    assert not amounts.is_nothing
    assert NOTHING.is_nothing


@pytest.mark.guarantee("A6")
@given(first=some_amounts(), second=some_amounts())
def test_what_is_added_can_be_taken_away_again_exactly(first: Amounts, second: Amounts) -> None:
    assert first.plus(second).minus(second) == first
    assert first.plus(second) == second.plus(first)


@pytest.mark.guarantee("A6")
@given(parts=st.lists(st.decimals(min_value=0, max_value=1, places=15), min_size=1, max_size=200))
def test_many_small_costs_never_add_up_to_less_than_they_were(parts: list[Decimal]) -> None:
    total = NOTHING
    for part in parts:
        total = total.plus(Amounts(cost_usd=part))
    rounded_up = sum((dollars("cost_usd", part) for part in parts), Decimal(0))
    assert total.cost_usd == rounded_up >= sum(parts)


def test_amounts_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        SOME.tokens = 0  # pyright: ignore[reportAttributeAccessIssue]
