"""Budgets and grants: what may be set, the exact defaults, and how everything else is refused."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from typing import Any

import pytest

from endstop.errors import EndstopError, GrantRefusedError, InvalidValueError
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget, Grant, UnknownPrice
from endstop.kernel.limits import LimitKind, Number

WHOLE_LIMITS = {
    "turns": (1, 1_000_000),
    "model_calls": (1, 1_000_000),
    "tokens": (1, 10**12),
    "context_tokens": (1, 10**9),
    "tool_calls_per_turn": (1, 10_000),
    "parallel_tools": (1, 1_000),
}

ALL_SET: dict[str, Any] = {
    "turns": 30,
    "model_calls": 50,
    "tokens": 200_000,
    "cost_usd": "0.50",
    "context_tokens": 100_000,
    "seconds": 300,
    "tool_calls_per_turn": 10,
    "parallel_tools": 3,
}

NOT_WHOLE = [
    *(0, -1, 10**30, 1.0, 0.5, float("nan"), float("inf"), float("-inf"), True, Decimal(3)),
    *("30", "", [30]),
]
NOT_SECONDS = [
    *(0, -1, -0.5, 10**12, float("nan"), float("inf"), float("-inf"), True, Decimal(60)),
    *("60", "", [60]),
]
NOT_DOLLARS = [
    *(0, -1, "-0.01", 10**7, "1e999999", float("nan"), float("inf"), float("-inf"), Decimal("NaN"), True),
    *("fifty cents", "", [1]),
]
NOT_FRACTIONS = [-0.01, 1.01, 2, float("nan"), float("inf"), float("-inf"), True, "0.7", [0.7]]


def budget_of(**given: Any) -> Budget:
    """A budget from whatever a caller might hand in."""
    return Budget(**given)


@pytest.mark.guarantee("A1")
def test_every_limit_can_be_set_together() -> None:
    budget = Budget(**ALL_SET)
    assert {limit.kind.value: limit.maximum for limit in budget} == {**ALL_SET, "cost_usd": Decimal("0.5")}


@pytest.mark.guarantee("A1")
@pytest.mark.parametrize("kind", LimitKind)
def test_each_limit_can_be_set_alone_and_the_others_do_not_bind(kind: LimitKind) -> None:
    budget = budget_of(**{kind.value: ALL_SET[kind.value]})
    assert [limit.kind for limit in budget] == [kind]
    assert budget.maximum(kind) is not None
    assert all(budget.maximum(other) is None for other in LimitKind if other is not kind)
    assert all(budget.finish(other) == 0 for other in LimitKind if other is not kind)


@pytest.mark.guarantee("A1")
def test_a_budget_without_limits_binds_nothing() -> None:
    assert list(Budget()) == []
    assert all(Budget().maximum(kind) is None for kind in LimitKind)


@pytest.mark.guarantee("A12")
def test_the_limits_come_in_the_order_in_which_they_win() -> None:
    assert [limit.kind for limit in Budget(**dict(reversed(ALL_SET.items())))] == list(LimitKind)


@pytest.mark.guarantee("A1")
@pytest.mark.parametrize(("field", "bounds"), WHOLE_LIMITS.items())
def test_a_counted_limit_can_be_set_from_its_smallest_to_its_largest(
    field: str, bounds: tuple[int, int]
) -> None:
    for value in bounds:
        assert getattr(budget_of(**{field: value}), field) == value


@pytest.mark.guarantee("A1")
@pytest.mark.parametrize("value", NOT_WHOLE)
@pytest.mark.parametrize(("field", "bounds"), WHOLE_LIMITS.items())
def test_a_counted_limit_out_of_bounds_is_refused_by_name(
    field: str, bounds: tuple[int, int], value: Any
) -> None:
    smallest, largest = bounds
    with pytest.raises(InvalidValueError) as caught:
        budget_of(**{field: value})
    assert str(caught.value) == (
        f"{field} is {value!r}. Allowed: a whole number from {smallest:,} to {largest:,}. "
        "Leave it out for no limit."
    )


@pytest.mark.guarantee("A1")
@pytest.mark.parametrize("value", NOT_SECONDS)
def test_a_time_limit_out_of_bounds_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Budget(seconds=value)
    assert str(caught.value) == (
        f"seconds is {value!r}. Allowed: seconds from 0.001 to 31,622,400. Leave it out for no limit."
    )


@pytest.mark.guarantee("A1")
@pytest.mark.parametrize("value", NOT_DOLLARS)
def test_a_cost_limit_out_of_bounds_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Budget(cost_usd=value)
    assert str(caught.value) == (
        f'cost_usd is {value!r}. Allowed: dollars from 0.000001 to 1,000,000, such as "0.50". '
        "Leave it out for no limit."
    )


@pytest.mark.guarantee("A1")
@pytest.mark.parametrize("kind", LimitKind)
def test_a_limit_too_long_to_be_written_out_is_refused_like_any_other(kind: LimitKind) -> None:
    with pytest.raises(InvalidValueError, match=kind.value):
        budget_of(**{kind.value: 10**5_000})


@pytest.mark.parametrize(
    ("given_as", "kept"),
    [
        ("0.50", "0.5"),
        (Decimal("0.50"), "0.5"),
        (0.1, "0.1"),
        (2, "2"),
        (1_000_000, "1000000"),
        ("1e-6", "1e-6"),
    ],
)
def test_a_cost_limit_is_taken_as_text_or_number_and_kept_as_decimal(given_as: Any, kept: str) -> None:
    cost = Budget(cost_usd=given_as).cost_usd
    assert cost == Decimal(kept)
    assert isinstance(cost, Decimal)


def test_a_cost_limit_is_rounded_up_to_a_millionth_of_a_millionth() -> None:
    assert Budget(cost_usd="0.1000000000001").cost_usd == Decimal("0.100000000001")


@pytest.mark.parametrize(("given_as", "kept"), [(300, 300.0), (0.001, 0.001), (31_622_400, 31_622_400.0)])
def test_a_time_limit_is_kept_as_a_float(given_as: float, kept: float) -> None:
    seconds = Budget(seconds=given_as).seconds
    assert (seconds, type(seconds)) == (kept, float)


@pytest.mark.guarantee("A2")
def test_the_default_thresholds_are_seventy_eighty_and_seventy_percent() -> None:
    warn_at = {limit.kind.value: limit.warn_at for limit in Budget(**ALL_SET)}
    set_by_default = {name: value for name, value in warn_at.items() if value is not None}
    assert set_by_default == {"turns": 0.70, "tokens": 0.80, "context_tokens": 0.70}


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("kind", LimitKind)
@pytest.mark.parametrize("threshold", [0, 0.5, 1, None])
def test_each_threshold_can_be_set_or_taken_away(kind: LimitKind, threshold: float | None) -> None:
    budget = budget_of(**ALL_SET, warn_at={kind.value: threshold})
    assert budget.limits[kind].warn_at == threshold
    others = {other: limit.warn_at for other, limit in budget.limits.items() if other is not kind}
    assert others == {
        other: limit.warn_at for other, limit in Budget(**ALL_SET).limits.items() if other is not kind
    }


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("value", NOT_FRACTIONS)
@pytest.mark.parametrize("kind", LimitKind)
def test_a_threshold_outside_zero_to_one_is_refused_by_name(kind: LimitKind, value: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        budget_of(**ALL_SET, warn_at={kind.value: value})
    assert caught.value.field == f"warn_at[{kind.value!r}]"
    assert str(caught.value).startswith(
        f"warn_at[{kind.value!r}] is {value!r}. Allowed: a number from 0 to 1."
    )


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("name", ["iterations", "turn", "TURNS", "", None, 5])
def test_a_threshold_for_an_unknown_limit_is_refused_with_the_known_names(name: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Budget(turns=10, warn_at={name: 0.5})
    assert caught.value.value == name
    assert all(kind.value in caught.value.allowed for kind in LimitKind)


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("value", [0.7, "turns", ["turns"]])
def test_thresholds_that_are_no_mapping_are_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^warn_at is "):
        Budget(turns=10, warn_at=value)


@pytest.mark.guarantee("A2")
def test_thresholds_are_copied_and_cannot_be_changed_later() -> None:
    thresholds: dict[str, float | None] = {"turns": 0.5}
    budget = Budget(turns=10, warn_at=thresholds)
    thresholds["turns"] = 0.9
    assert budget.limits[LimitKind.TURNS].warning_value == 5
    with pytest.raises(TypeError):
        budget.warn_at[LimitKind.TURNS] = 0.9  # pyright: ignore[reportIndexIssue]


@pytest.mark.guarantee("A4")
@pytest.mark.parametrize(
    ("kind", "held_back"),
    [
        (LimitKind.TURNS, 1),
        (LimitKind.MODEL_CALLS, 1),
        (LimitKind.TOKENS, 10_000),
        (LimitKind.COST_USD, Decimal("0.025")),
        (LimitKind.SECONDS, 15.0),
        (LimitKind.CONTEXT_TOKENS, 0),
        (LimitKind.TOOL_CALLS_PER_TURN, 0),
        (LimitKind.PARALLEL_TOOLS, 0),
    ],
)
def test_one_turn_and_a_twentieth_of_what_is_spent_is_held_back_to_close_with(
    kind: LimitKind, held_back: Number
) -> None:
    assert Budget(**ALL_SET).finish(kind) == held_back


@pytest.mark.guarantee("A4")
@pytest.mark.parametrize(("part", "tokens"), [(0, 0), (0.1, 100), (0.5, 500), (0.0333, 33)])
def test_the_finish_reserve_can_be_set_from_nothing_to_a_half(part: float, tokens: int) -> None:
    assert Budget(tokens=1_000, finish_reserve=part).finish(LimitKind.TOKENS) == tokens


@pytest.mark.guarantee("A4")
@pytest.mark.parametrize("value", [*NOT_FRACTIONS, 0.51, 1])
def test_a_finish_reserve_outside_its_bounds_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Budget(turns=10, finish_reserve=value)
    assert str(caught.value).startswith(f"finish_reserve is {value!r}. Allowed: a number from 0 to 0.5.")


@pytest.mark.guarantee("A4", "A8")
def test_a_twentieth_is_held_back_and_three_times_a_limit_may_be_granted_unless_told_otherwise() -> None:
    assert (Budget().finish_reserve, Budget().grant_cap) == (0.05, 3.0)


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize("value", [-0.01, 100.01, float("nan"), float("inf"), True, "3", None])
def test_a_grant_cap_outside_its_bounds_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Budget(turns=10, grant_cap=value)
    assert str(caught.value).startswith(f"grant_cap is {value!r}. Allowed: a number from 0 to 100.")


@pytest.mark.guarantee("A10")
def test_calls_of_unknown_price_are_refused_unless_told_otherwise() -> None:
    assert Budget(cost_usd=1).unknown_price is UnknownPrice.REFUSE
    assert Budget(cost_usd=1, unknown_price="warn").unknown_price is UnknownPrice.WARN
    assert Budget(cost_usd=1, unknown_price=UnknownPrice.WARN).unknown_price is UnknownPrice.WARN


@pytest.mark.guarantee("A10")
@pytest.mark.parametrize("value", ["ignore", "", "WARN", None, True, 1, ["warn"]])
def test_any_other_word_about_unknown_prices_is_refused(value: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Budget(cost_usd=1, unknown_price=value)
    assert str(caught.value).startswith(f'unknown_price is {value!r}. Allowed: "refuse" or "warn".')


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize(
    "make",
    [
        lambda: Budget(turns=0),
        lambda: Budget(cost_usd=0),
        lambda: Budget(seconds=0),
        lambda: Budget(turns=1, warn_at={"turns": 2}),
        lambda: Budget(turns=1, warn_at={"iterations": 0.5}),
        lambda: Budget(turns=1, finish_reserve=2),
        lambda: Budget(turns=1, grant_cap=-1),
        lambda: Budget(turns=1, unknown_price="ignore"),
        lambda: Grant(turns=-1, by="ada", why="more"),
        lambda: Grant(cost_usd=-1, by="ada", why="more"),
        lambda: Grant(seconds=-1, by="ada", why="more"),
        lambda: Grant(turns=1, by="", why="more"),
        lambda: Grant(by="ada", why="more"),
    ],
    ids=[
        *("turns", "cost_usd", "seconds", "warn_at", "warn_at name", "finish_reserve", "grant_cap"),
        *(
            "unknown_price",
            "granted turns",
            "granted cost",
            "granted seconds",
            "granted by",
            "granted nothing",
        ),
    ],
)
def test_every_refusal_says_what_is_wrong_and_what_to_do(make: Callable[[], object]) -> None:
    with pytest.raises(EndstopError) as caught:
        make()
    assert caught.value.what
    assert caught.value.to_do


@pytest.mark.guarantee("I7")
def test_advice_on_a_grant_is_not_advice_on_a_limit() -> None:
    with pytest.raises(InvalidValueError) as caught:
        Grant(seconds=-1, by="ada", why="more")
    assert "no limit" not in caught.value.to_do


@pytest.mark.parametrize(("field", "value"), [("turns", 0), ("tokens", -1), ("cost_usd", 0), ("seconds", -1)])
def test_a_refused_change_leaves_the_budget_as_it_was(field: str, value: int) -> None:
    budget = Budget(**ALL_SET)
    with pytest.raises(InvalidValueError):
        replace(budget, **{field: value})
    assert budget == Budget(**ALL_SET)


def test_a_changed_copy_of_a_budget_has_limits_of_its_own() -> None:
    smaller = replace(Budget(turns=30, tokens=1_000), turns=10, tokens=None)
    assert {limit.kind: limit.maximum for limit in smaller} == {LimitKind.TURNS: 10}


def test_budgets_are_equal_when_they_were_given_the_same() -> None:
    assert Budget(turns=3, cost_usd="0.50") == Budget(turns=3, cost_usd=Decimal("0.5"))
    assert Budget(turns=3) != Budget(turns=4)


def test_budgets_take_only_names_they_know() -> None:
    with pytest.raises(TypeError):
        Budget(max_turns=30)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        Budget(30)  # pyright: ignore[reportCallIssue]


def test_a_budget_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Budget(turns=3).turns = 4  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.guarantee("A8")
def test_a_grant_says_how_much_of_what_by_whom_and_why() -> None:
    grant = Grant(
        turns=10, model_calls=11, tokens=5_000, cost_usd="0.25", seconds=60, by="ada", why="nearly done"
    )
    assert grant.amounts == Amounts(turns=10, model_calls=11, tokens=5_000, cost_usd=Decimal("0.25"))
    assert (grant.seconds, grant.by, grant.why) == (60, "ada", "nearly done")


@pytest.mark.guarantee("A8")
def test_a_grant_of_seconds_alone_is_a_grant() -> None:
    assert Grant(seconds=1, by="ada", why="more").amounts.is_nothing


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize(("by", "why"), [("", "more"), ("  ", "more"), ("ada", ""), ("ada", " \n"), ("", "")])
def test_a_grant_without_a_name_or_a_reason_is_refused(by: str, why: str) -> None:
    with pytest.raises(
        GrantRefusedError, match=r"does not say who gave it and why\. Give both `by` and `why`"
    ):
        Grant(turns=1, by=by, why=why)


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize(("by", "why"), [(None, "more"), ("ada", None), (7, "more")])
def test_a_grant_by_something_that_is_no_name_is_refused(by: Any, why: Any) -> None:
    with pytest.raises(EndstopError):
        Grant(turns=1, by=by, why=why)


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize("nothing", [{}, {"turns": 0}, {"tokens": 0, "cost_usd": "0.00", "seconds": 0.0}])
def test_a_grant_of_nothing_is_refused(nothing: dict[str, Any]) -> None:
    with pytest.raises(
        GrantRefusedError, match=r"The grant is of nothing\. Allowed: more than zero of turns"
    ):
        Grant(**nothing, by="ada", why="more")


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("turns", value) for value in (-1, 10**7, 1.0, True, "10", float("nan"), None)),
        *(("model_calls", value) for value in (-1, 10**7, 0.5, True, "10")),
        *(("tokens", value) for value in (-1, 10**13, 1.0, True, "10")),
        *(
            ("cost_usd", value)
            for value in (-1, "-0.01", 10**7, float("nan"), float("inf"), True, "much", None)
        ),
        *(("seconds", value) for value in (-1, 10**12, float("nan"), float("inf"), True, "60", None)),
    ],
)
def test_a_grant_of_an_impossible_amount_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Grant(**{field: value}, by="ada", why="more")
    assert (caught.value.field, str(caught.value.value)) == (field, str(value))
    assert caught.value.allowed


def test_a_budget_can_be_copied_and_sent_to_another_process() -> None:
    budget = Budget(turns=3, cost_usd="0.50", warn_at={"turns": 0.5}, unknown_price="warn")
    for copied in (pickle.loads(pickle.dumps(budget)), copy.deepcopy(budget)):
        assert copied == budget
        assert copied.limits == budget.limits
