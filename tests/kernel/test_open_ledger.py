"""A ledger that is written in place: the same books as the ledger that is a value."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_words import assert_refused, some, with_tokens

from endstop.errors import ClosedAccountError, EndstopError, LedgerError, NotEnoughLeftError
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.ledger import ROOT, Ledger
from endstop.kernel.open_ledger import OpenLedger, open_ledger

MORE = Grant(tokens=5, by="ada", why="nearly done")
Entry = tuple[str, tuple[Any, ...]]
"""What is done to the ledger, and with what."""

names = st.sampled_from([ROOT, "part", "gone"])
holds = st.sampled_from(["a", "b"])
few = st.integers(min_value=0, max_value=30).map(some)
parts = st.integers(min_value=1, max_value=40).map(lambda tokens: Budget(tokens=tokens))

entries: st.SearchStrategy[Entry] = st.one_of(
    st.tuples(st.sampled_from(["reserve", "settle", "top_up"]), st.tuples(names, holds, few)),
    st.tuples(st.just("overrun"), st.tuples(names, few)),
    st.tuples(st.just("grant"), st.tuples(names, st.just(MORE))),
    st.tuples(st.just("carve"), st.tuples(st.just(ROOT), st.just("part"), parts)),
    st.tuples(st.just("close"), st.tuples(st.just("part"))),
)


def entered(ledger: Ledger, entry: Entry) -> Ledger:
    done, given_to_it = entry
    return getattr(ledger, done)(*given_to_it)


@given(st.lists(entries, max_size=12))
def test_entries_in_place_lead_to_the_same_books(made: list[Entry]) -> None:
    value: Ledger = with_tokens(100)
    kept: Ledger = open_ledger(value)
    for entry in made:
        try:
            value = entered(value, entry)
        except EndstopError as refused:
            with pytest.raises(type(refused)):
                entered(kept, entry)
        else:
            kept = entered(kept, entry)
        assert list(kept.accounts) == list(value.accounts)
    assert (kept.closed() if isinstance(kept, OpenLedger) else kept) == value


def test_an_entry_in_place_makes_no_other_ledger() -> None:
    opened = open_ledger(with_tokens(100))
    assert opened.reserve(ROOT, "call", some(10)) is opened
    assert opened.held(ROOT, "call") == some(10)


def test_the_ledger_it_was_opened_from_stays_as_it_was() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(10))
    before = repr(ledger)
    open_ledger(ledger).settle(ROOT, "call", some(7)).overrun(ROOT, some(3))
    assert repr(ledger) == before


def test_a_closed_ledger_is_a_value() -> None:
    opened = open_ledger(with_tokens(100))
    opened.reserve(ROOT, "call", some(10))
    closed = opened.closed()
    assert closed == with_tokens(100).reserve(ROOT, "call", some(10))
    with pytest.raises(FrozenInstanceError):
        closed.accounts = {}  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        closed.account(ROOT).settled = some(1)  # pyright: ignore[reportAttributeAccessIssue]


def test_what_is_refused_changes_nothing() -> None:
    opened = open_ledger(with_tokens(100)).reserve(ROOT, "call", some(10))
    assert_refused(opened, lambda ledger: ledger.reserve(ROOT, "more", some(91)), NotEnoughLeftError)
    assert_refused(opened, lambda ledger: ledger.reserve(ROOT, "call", some(1)), LedgerError)
    assert_refused(opened, lambda ledger: ledger.settle(ROOT, "call", some(11)), LedgerError)
    assert_refused(opened, lambda ledger: ledger.settle(ROOT, "none", some(1)), LedgerError)
    assert_refused(opened, lambda ledger: ledger.overrun("gone", some(1)), ClosedAccountError)


def test_scopes_are_opened_and_closed_in_the_closed_ledger() -> None:
    opened = open_ledger(with_tokens(100))
    carved = opened.carve(ROOT, "part", Budget(tokens=40))
    used = open_ledger(carved).reserve("part", "call", some(30)).settle("part", "call", some(20))
    assert type(carved) is Ledger
    assert used.close("part").account(ROOT).settled == Amounts(tokens=20)
