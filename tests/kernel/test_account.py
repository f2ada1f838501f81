"""The marks of an account: below them nothing is due, at them or past them the limits themselves decide."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.kernel.account import Account
from endstop.kernel.amounts import NOTHING, SPENT_KINDS, Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.ledger import ROOT, Ledger
from endstop.kernel.limits import LimitKind, Meter

counts = st.integers(0, 12)
money = counts.map(lambda count: Decimal(count) / 100)
amounts = st.builds(Amounts, turns=counts, model_calls=counts, tokens=counts, cost_usd=money)
maybe = st.none() | st.integers(1, 20)
budgets = st.builds(
    Budget,
    turns=maybe,
    model_calls=maybe,
    tokens=maybe,
    cost_usd=st.none() | st.integers(1, 20).map(lambda count: Decimal(count) / 100),
    seconds=st.none() | st.floats(0.1, 20),
    context_tokens=maybe,
    finish_reserve=st.sampled_from([0.0, 0.05, 0.3, 0.5]),
)
accounts = st.builds(
    Account,
    id=st.just(ROOT),
    budget=budgets,
    granted=st.just(NOTHING) | amounts,
    granted_s=st.sampled_from([0.0, 0.1, 2.5]),
    settled=amounts,
    reserved=amounts,
    overrun=st.just(NOTHING) | amounts,
)


def meter(account: Account, kind: LimitKind, seconds: float, context_tokens: int) -> Meter | None:
    maximum = account.maximum(kind)
    if maximum is None:
        return None
    used = {LimitKind.SECONDS: seconds, LimitKind.CONTEXT_TOKENS: context_tokens}.get(
        kind, account.used(kind)
    )
    return Meter(kind=kind, used=used, maximum=maximum, finish=account.budget.finish(kind))


@pytest.mark.guarantee("A6")
@given(account=accounts, more=amounts)
def test_where_there_is_room_below_the_marks_there_is_room_below_the_limits(
    account: Account, more: Amounts
) -> None:
    if account.has_room(more):
        for kind in SPENT_KINDS:
            left = account.left(kind, keep_finish=True)
            assert left is None or not more.of(kind) or more.of(kind) <= left


@pytest.mark.guarantee("A12")
@given(account=accounts, seconds=st.floats(0, 30), context_tokens=st.integers(0, 25))
def test_an_account_at_ease_has_no_limit_that_is_reached_or_closes_in(
    account: Account, seconds: float, context_tokens: int
) -> None:
    if account.is_below(account.marks, seconds, context_tokens):
        for kind in LimitKind:
            read = meter(account, kind, seconds, context_tokens)
            assert read is None or not (read.is_reached or read.is_last)


def test_an_account_is_at_ease_up_to_the_turn_before_its_last() -> None:
    account = Account(id=ROOT, budget=Budget(turns=10), settled=Amounts(turns=8))
    assert account.is_below(account.marks, 0, 0)
    last = Account(id=ROOT, budget=Budget(turns=10), settled=Amounts(turns=9))
    assert not last.is_below(last.marks, 0, 0)


def test_an_account_without_limits_is_always_at_ease() -> None:
    account = Account(id=ROOT, budget=Budget(), settled=Amounts(tokens=10**12, cost_usd=Decimal(10**6)))
    assert account.is_below(account.marks, 1e9, 10**9)
    assert account.has_room(Amounts(turns=10**6))


def test_what_was_used_past_every_reservation_is_never_at_ease() -> None:
    account = Account(id=ROOT, budget=Budget(turns=10), overrun=Amounts(tokens=1))
    assert not account.is_below(account.marks, 0, 0)
    assert not account.has_room(Amounts(tokens=1))


def test_a_grant_moves_the_marks() -> None:
    ledger = Ledger.open(Budget(turns=10, seconds=60))
    granted = ledger.grant(ROOT, Grant(turns=5, seconds=30, by="somebody", why="more to do"))
    assert ledger.account(ROOT).marks.turns == 9
    assert granted.account(ROOT).marks.turns == 14
    assert granted.account(ROOT).marks.seconds == pytest.approx(87)


def test_marks_do_not_count_when_accounts_are_compared() -> None:
    account = Account(id=ROOT, budget=Budget(turns=10))
    assert account == Account(id=ROOT, budget=Budget(turns=10))
    assert "marks" not in repr(account)
