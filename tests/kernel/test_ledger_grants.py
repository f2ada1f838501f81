"""Grants in the ledger: more budget as an entry, never a counter set back, and only up to a cap."""

from decimal import Decimal

import pytest
from ledger_words import assert_refused, some, with_tokens

from endstop.errors import (
    GrantRefusedError,
    NotEnoughLeftError,
)
from endstop.kernel.amounts import NOTHING, Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.ledger import ROOT, Ledger
from endstop.kernel.limits import LimitKind

TOKENS = LimitKind.TOKENS
COST = LimitKind.COST_USD
TURNS = LimitKind.TURNS

FULL = Budget(turns=10, model_calls=20, tokens=1_000, cost_usd="0.50", seconds=60, finish_reserve=0.1)


def more(**amounts: int) -> Grant:
    return Grant(**amounts, by="ada", why="nearly done")


@pytest.mark.guarantee("A8")
def test_a_grant_raises_the_limit_and_sets_no_counter_back() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(100)).settle(ROOT, "call", some(100))
    ledger = ledger.grant(ROOT, more(tokens=50))
    account = ledger.account(ROOT)
    assert (account.settled, account.granted, account.maximum(TOKENS)) == (some(100), some(50), 150)
    assert ledger.left(ROOT, TOKENS) == 50


@pytest.mark.guarantee("A8")
def test_grants_add_up_for_every_kind() -> None:
    grant = Grant(turns=1, model_calls=2, tokens=3, cost_usd="0.04", seconds=5, by="ada", why="more")
    account = Ledger.open(FULL).grant(ROOT, grant).grant(ROOT, grant).account(ROOT)
    assert account.granted == Amounts(turns=2, model_calls=4, tokens=6, cost_usd=Decimal("0.08"))
    raised = (LimitKind.TURNS, LimitKind.MODEL_CALLS, TOKENS, COST, LimitKind.SECONDS)
    assert [account.maximum(kind) for kind in raised] == [12, 24, 1_006, Decimal("0.58"), 70.0]


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize(
    ("grant", "word"),
    [
        (more(turns=1), "iteration"),
        (more(model_calls=1), "model call"),
        (more(cost_usd=1), "cost"),
        (more(seconds=1), "time"),
    ],
)
def test_what_has_no_limit_cannot_be_granted(grant: Grant, word: str) -> None:
    words = rf"'run' has no {word} limit to add to\. Allowed: tokens\. Grant only what the budget limits"
    assert_refused(with_tokens(100), lambda books: books.grant(ROOT, grant), GrantRefusedError, words)


@pytest.mark.guarantee("A8")
def test_a_run_without_limits_can_be_granted_nothing() -> None:
    words = "nothing: no limit is set"
    assert_refused(
        Ledger.open(Budget()), lambda books: books.grant(ROOT, more(turns=1)), GrantRefusedError, words
    )


@pytest.mark.guarantee("A8")
def test_a_refused_grant_names_only_what_can_be_granted() -> None:
    ledger = Ledger.open(Budget(turns=5, context_tokens=10, tool_calls_per_turn=3, parallel_tools=2))
    with pytest.raises(GrantRefusedError) as caught:
        ledger.grant(ROOT, more(tokens=1))
    assert caught.value.allowed == "turns"


@pytest.mark.guarantee("A8")
def test_a_grant_is_made_for_all_kinds_or_for_none() -> None:
    ledger = Ledger.open(Budget(turns=5, tokens=100))
    assert_refused(ledger, lambda books: books.grant(ROOT, more(turns=1, seconds=1)), GrantRefusedError)
    assert_refused(ledger, lambda books: books.grant(ROOT, more(turns=1, tokens=301)), GrantRefusedError)


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize(
    ("cap", "granted", "refused"), [(3.0, 30, 1), (1.0, 10, 1), (0.5, 5, 1), (0.0, 0, 1)]
)
def test_all_grants_together_are_capped_at_so_many_times_the_first_limit(
    cap: float, granted: int, refused: int
) -> None:
    ledger = Ledger.open(Budget(turns=10, grant_cap=cap))
    for _ in range(granted):
        ledger = ledger.grant(ROOT, more(turns=1))
    assert ledger.account(ROOT).maximum(TURNS) == 10 + granted
    assert_refused(
        ledger,
        lambda books: books.grant(ROOT, more(turns=refused)),
        GrantRefusedError,
        "pass the cap on grants",
    )


@pytest.mark.guarantee("A8")
def test_the_cap_on_grants_does_not_grow_with_grants() -> None:
    ledger = Ledger.open(Budget(turns=10, grant_cap=1)).grant(ROOT, more(turns=10))
    assert_refused(ledger, lambda books: books.grant(ROOT, more(turns=1)), GrantRefusedError)


@pytest.mark.guarantee("A8")
def test_a_grant_past_the_cap_says_what_was_granted_and_what_may_be() -> None:
    ledger = Ledger.open(Budget(turns=10)).grant(ROOT, more(turns=25))
    with pytest.raises(GrantRefusedError) as caught:
        ledger.grant(ROOT, more(turns=6))
    assert str(caught.value) == (
        "6 more turns would pass the cap on grants: 25 granted so far, 30 in all. "
        "Allowed: at most 3 times the first limit, all grants together. "
        "Grant less, or start a new run with a larger budget."
    )


@pytest.mark.guarantee("A8")
def test_a_grant_of_time_is_capped_too() -> None:
    ledger = Ledger.open(Budget(seconds=10)).grant(ROOT, more(seconds=30))
    assert ledger.account(ROOT).maximum(LimitKind.SECONDS) == 40.0
    words = "30 s granted so far, 30 s in all"
    assert_refused(ledger, lambda books: books.grant(ROOT, more(seconds=1)), GrantRefusedError, words)


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize(
    ("limit", "cap", "whole_cap"),
    [("0.10", 3.0, "0.30"), ("0.70", 3.0, "2.10"), ("0.35", 3.0, "1.05"), ("1.10", 1.1, "1.21")],
)
def test_money_can_be_granted_up_to_the_cap_to_the_cent(limit: str, cap: float, whole_cap: str) -> None:
    ledger = Ledger.open(Budget(cost_usd=limit, grant_cap=cap))
    granted = ledger.grant(ROOT, Grant(cost_usd=whole_cap, by="ada", why="more"))
    assert granted.account(ROOT).maximum(COST) == Decimal(limit) + Decimal(whole_cap)
    dust = Grant(cost_usd="0.000000000001", by="ada", why="more")
    assert_refused(granted, lambda books: books.grant(ROOT, dust), GrantRefusedError)


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize(("limit", "part"), [(10.0, 10.0), (1.1, 1.1), (0.1, 0.1), (33.3, 33.3)])
def test_time_can_be_granted_up_to_the_cap_in_parts(limit: float, part: float) -> None:
    ledger = Ledger.open(Budget(seconds=limit, grant_cap=3))
    for _ in range(3):
        ledger = ledger.grant(ROOT, Grant(seconds=part, by="ada", why="more"))
    again = Grant(seconds=part, by="ada", why="more")
    assert_refused(ledger, lambda books: books.grant(ROOT, again), GrantRefusedError, "in all")


@pytest.mark.guarantee("A8")
@pytest.mark.parametrize(("turns", "cap", "most"), [(100, 0.29, 29), (100, 0.57, 57), (10, 1.1, 11)])
def test_turns_can_be_granted_up_to_the_cap_to_the_turn(turns: int, cap: float, most: int) -> None:
    ledger = Ledger.open(Budget(turns=turns, grant_cap=cap)).grant(ROOT, more(turns=most))
    assert ledger.account(ROOT).maximum(TURNS) == turns + most
    assert_refused(ledger, lambda books: books.grant(ROOT, more(turns=1)), GrantRefusedError)


@pytest.mark.guarantee("A7", "A8")
def test_a_scope_is_granted_only_what_its_parent_has_left() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=60, finish_reserve=0))
    ledger = ledger.grant("child", more(tokens=40))
    assert (ledger.left("child", TOKENS), ledger.left(ROOT, TOKENS)) == (100, 0)
    assert ledger.account(ROOT).granted == NOTHING
    assert_refused(
        ledger, lambda books: books.grant("child", more(tokens=1)), NotEnoughLeftError, "'run', 0 left"
    )


@pytest.mark.guarantee("A7", "A8")
def test_what_a_scope_was_granted_and_did_not_use_flows_back() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=20, finish_reserve=0))
    ledger = ledger.grant("child", more(tokens=30)).reserve("child", "call", some(50))
    ledger = ledger.settle("child", "call", some(45)).close("child")
    assert ledger.left(ROOT, TOKENS) == 55


@pytest.mark.guarantee("A7", "A8")
def test_a_grant_to_the_run_can_be_handed_on_to_a_scope() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=100, finish_reserve=0))
    assert_refused(ledger, lambda books: books.grant("child", more(tokens=50)), NotEnoughLeftError)
    ledger = ledger.grant(ROOT, more(tokens=50)).grant("child", more(tokens=50))
    assert (ledger.left("child", TOKENS), ledger.left(ROOT, TOKENS)) == (150, 0)


@pytest.mark.guarantee("A7", "A8")
def test_grants_to_a_scope_are_capped_by_what_was_carved_for_it() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=10, grant_cap=2))
    assert_refused(
        ledger, lambda books: books.grant("child", more(tokens=21)), GrantRefusedError, "20 in all"
    )


@pytest.mark.guarantee("A7", "A8")
def test_a_grant_to_a_scope_is_held_by_the_ancestor_that_limits_the_kind() -> None:
    ledger = with_tokens(100).carve(ROOT, "phase", Budget(turns=5))
    ledger = ledger.carve("phase", "agent", Budget(tokens=20, finish_reserve=0)).grant(
        "agent", more(tokens=30)
    )
    assert [ledger.left(name, TOKENS) for name in ("agent", "phase", ROOT)] == [50, 50, 50]
    assert ledger.close("agent").close("phase") == with_tokens(100)
