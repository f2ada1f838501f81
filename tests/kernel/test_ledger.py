"""The ledger: nothing is spent that was not reserved first."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from ledger_words import assert_refused, some, with_tokens

from endstop.errors import (
    LedgerError,
    NotEnoughLeftError,
    OverReservationError,
    UnknownReservationError,
)
from endstop.kernel.amounts import NOTHING, Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.ledger import ROOT, Account, Ledger
from endstop.kernel.limits import LimitKind, Number

TOKENS = LimitKind.TOKENS
COST = LimitKind.COST_USD
TURNS = LimitKind.TURNS

FULL = Budget(turns=10, model_calls=20, tokens=1_000, cost_usd="0.50", seconds=60, finish_reserve=0.1)


@pytest.mark.guarantee("A6")
def test_a_new_ledger_has_everything_left() -> None:
    ledger = Ledger.open(FULL)
    account = ledger.account(ROOT)
    assert (account.settled, account.reserved, account.overrun, account.granted) == (NOTHING,) * 4
    assert [ledger.left(ROOT, kind) for kind in (TURNS, TOKENS, COST)] == [9, 900, Decimal("0.45")]


@pytest.mark.guarantee("A6")
def test_what_is_reserved_is_gone_for_everybody_else() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(40))
    assert ledger.left(ROOT, TOKENS) == 60
    assert ledger.held(ROOT, "call") == some(40)


@pytest.mark.guarantee("A6")
def test_a_settled_call_costs_what_it_used_and_gives_the_rest_back() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(40)).settle(ROOT, "call", some(15))
    account = ledger.account(ROOT)
    assert (account.settled, account.reserved, dict(account.holds)) == (some(15), NOTHING, {})
    assert ledger.left(ROOT, TOKENS) == 85


@pytest.mark.guarantee("A6")
def test_a_call_that_used_nothing_gives_everything_back() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(40)).settle(ROOT, "call", NOTHING)
    assert ledger == with_tokens(100)


@pytest.mark.guarantee("A6")
def test_a_part_can_be_settled_while_the_call_goes_on() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(40))
    ledger = ledger.settle(ROOT, "call", some(10), final=False)
    ledger = ledger.settle(ROOT, "call", some(5), final=False)
    assert ledger.held(ROOT, "call") == some(25)
    assert ledger.left(ROOT, TOKENS) == 60
    assert ledger.settle(ROOT, "call", some(1)).left(ROOT, TOKENS) == 84


@pytest.mark.guarantee("A6")
def test_two_calls_at_once_cannot_both_take_the_last_tokens() -> None:
    ledger = with_tokens(100).reserve(ROOT, "first", some(60))
    assert_refused(
        ledger,
        lambda books: books.reserve(ROOT, "second", some(60)),
        NotEnoughLeftError,
        r"60 tokens asked for in 'run', 40 left\. Allowed: .*Ask for less",
    )
    after = ledger.settle(ROOT, "first", some(20)).reserve(ROOT, "second", some(60))
    assert after.left(ROOT, TOKENS) == 20


@pytest.mark.guarantee("A6")
def test_two_branches_at_once_cannot_both_take_the_last_tokens_of_their_run() -> None:
    ledger = with_tokens(100).carve(ROOT, "a", Budget()).carve(ROOT, "b", Budget())
    ledger = ledger.reserve("a", "call", some(60))
    assert_refused(ledger, lambda books: books.reserve("b", "call", some(60)), NotEnoughLeftError, "40 left")


@pytest.mark.guarantee("A6")
@pytest.mark.parametrize(("asked", "fits"), [(99, True), (100, True), (101, False)])
def test_exactly_what_is_left_can_be_reserved_and_not_one_more(asked: int, fits: bool) -> None:
    ledger = with_tokens(100)
    if fits:
        assert ledger.reserve(ROOT, "call", some(asked)).left(ROOT, TOKENS) == 100 - asked
    else:
        assert_refused(ledger, lambda books: books.reserve(ROOT, "call", some(asked)), NotEnoughLeftError)


@pytest.mark.guarantee("A6")
def test_money_is_reserved_to_the_last_millionth_of_a_millionth() -> None:
    ledger = Ledger.open(Budget(cost_usd="0.30", finish_reserve=0))
    for name in ("a", "b", "c"):
        ledger = ledger.reserve(ROOT, name, Amounts(cost_usd=Decimal("0.1")))
    assert ledger.left(ROOT, COST) == 0
    dust = Amounts(cost_usd=Decimal("0.000000000001"))
    assert_refused(ledger, lambda books: books.reserve(ROOT, "d", dust), NotEnoughLeftError, r"\$0\.00 left")


@pytest.mark.guarantee("A6")
@pytest.mark.parametrize(
    "too_much",
    [
        Amounts(turns=10, tokens=1),
        Amounts(turns=1, model_calls=20),
        Amounts(turns=1, tokens=901),
        Amounts(turns=1, tokens=1, cost_usd=Decimal("0.46")),
    ],
)
def test_an_entry_is_made_for_all_kinds_or_for_none(too_much: Amounts) -> None:
    ledger = Ledger.open(FULL)
    assert_refused(ledger, lambda books: books.reserve(ROOT, "call", too_much), NotEnoughLeftError)


@pytest.mark.guarantee("A1")
def test_what_is_not_limited_does_not_bind() -> None:
    ledger = with_tokens(100)
    assert ledger.left(ROOT, TURNS) is None
    free = Amounts(turns=10**6, model_calls=10**6, cost_usd=Decimal(10**6))
    settled = ledger.reserve(ROOT, "call", free).settle(ROOT, "call", free).account(ROOT).settled
    assert settled == free


def test_time_is_never_reserved() -> None:
    assert Ledger.open(FULL).left(ROOT, LimitKind.SECONDS) is None


@pytest.mark.guarantee("A6")
def test_a_ledger_is_a_value_and_an_entry_makes_another() -> None:
    ledger = with_tokens(100)
    before = repr(ledger)
    ledger.reserve(ROOT, "call", some(40)).settle(ROOT, "call", some(15))
    assert repr(ledger) == before


@pytest.mark.guarantee("A6")
def test_a_reservation_can_be_topped_up_from_what_is_left() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(40)).top_up(ROOT, "call", some(60))
    assert ledger.held(ROOT, "call") == some(100)
    assert ledger.left(ROOT, TOKENS) == 0


@pytest.mark.guarantee("A6")
def test_a_reservation_cannot_be_topped_up_past_what_is_left() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(40))
    assert_refused(ledger, lambda books: books.top_up(ROOT, "call", some(61)), NotEnoughLeftError, "60 left")


@pytest.mark.guarantee("A6")
@pytest.mark.parametrize(("closing", "fits"), [(False, False), (True, True)])
def test_a_closing_call_may_be_topped_up_from_what_was_held_back(closing: bool, fits: bool) -> None:
    ledger = with_tokens(100, finish_reserve=0.1).reserve(ROOT, "call", some(90))
    if fits:
        assert ledger.top_up(ROOT, "call", some(10), closing=closing).held(ROOT, "call") == some(100)
    else:
        assert_refused(ledger, lambda books: books.top_up(ROOT, "call", some(10)), NotEnoughLeftError)


@pytest.mark.guarantee("A6")
def test_more_than_was_reserved_cannot_be_settled_and_the_reservation_stays_open() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(40))
    assert_refused(
        ledger,
        lambda books: books.settle(ROOT, "call", some(41)),
        OverReservationError,
        r"41 tokens used, but only 40 tokens reserved in 'call'\. .*still open\. Top up",
    )
    assert ledger.settle(ROOT, "call", some(40)).left(ROOT, TOKENS) == 60


@pytest.mark.guarantee("A6")
def test_what_was_not_reserved_at_all_cannot_be_settled() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", NOTHING)
    used = Amounts(turns=1, model_calls=2, tokens=3, cost_usd=Decimal("0.04"))
    words = r"1 turns, 2 model_calls, 3 tokens, \$0\.04 cost_usd used, but only nothing reserved"
    assert_refused(ledger, lambda books: books.settle(ROOT, "call", used), OverReservationError, words)


@pytest.mark.guarantee("A6")
def test_partial_settlements_together_cannot_exceed_the_reservation() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(40)).settle(ROOT, "call", some(30), final=False)
    assert_refused(ledger, lambda books: books.settle(ROOT, "call", some(11)), OverReservationError)


@pytest.mark.guarantee("A6")
def test_a_reservation_is_settled_once() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(40)).settle(ROOT, "call", some(40))
    assert_refused(
        ledger,
        lambda books: books.settle(ROOT, "call", some(1)),
        UnknownReservationError,
        r"no open reservation 'call' in 'run'\. Allowed: none is open\. A reservation is settled once",
    )


OF_AN_UNKNOWN_RESERVATION: dict[str, Callable[[Ledger], object]] = {
    "settle": lambda books: books.settle(ROOT, "other", some(1)),
    "top_up": lambda books: books.top_up(ROOT, "other", some(1)),
    "held": lambda books: books.held(ROOT, "other"),
}


@pytest.mark.guarantee("A6")
@pytest.mark.parametrize("entry", OF_AN_UNKNOWN_RESERVATION.values(), ids=OF_AN_UNKNOWN_RESERVATION)
def test_an_unknown_reservation_is_refused_with_the_open_ones(entry: Callable[[Ledger], object]) -> None:
    ledger = with_tokens(100).reserve(ROOT, "first", some(1)).reserve(ROOT, "second", some(1))
    assert_refused(ledger, entry, UnknownReservationError, r"'other'.*Allowed: first, second\.")


@pytest.mark.guarantee("A6")
def test_a_name_stands_for_one_open_reservation() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(1))
    assert_refused(
        ledger,
        lambda books: books.reserve(ROOT, "call", some(1)),
        LedgerError,
        r"'call' is open already in 'run'\. Settle it first",
    )
    assert ledger.settle(ROOT, "call", some(1)).reserve(ROOT, "call", some(1)).left(ROOT, TOKENS) == 98


@pytest.mark.guarantee("A6")
def test_an_overrun_counts_as_used_and_is_kept_apart() -> None:
    ledger = with_tokens(100).reserve(ROOT, "call", some(90)).overrun(ROOT, some(30))
    ledger = ledger.settle(ROOT, "call", some(90))
    account = ledger.account(ROOT)
    assert (account.settled, account.overrun, account.used(TOKENS)) == (some(90), some(30), 120)
    assert ledger.left(ROOT, TOKENS) == 0


@pytest.mark.guarantee("A6")
def test_overruns_add_up() -> None:
    ledger = with_tokens(100).overrun(ROOT, some(30)).overrun(ROOT, some(1))
    assert ledger.account(ROOT).overrun == some(31)
    assert ledger.left(ROOT, TOKENS) == 69


@pytest.mark.guarantee("A6")
@pytest.mark.parametrize(
    ("asked", "clamped"),
    [
        (Amounts(tokens=50), Amounts(tokens=50)),
        (Amounts(tokens=5_000), Amounts(tokens=900)),
        (Amounts(turns=11, model_calls=21), Amounts(turns=9, model_calls=19)),
        (Amounts(cost_usd=Decimal(1)), Amounts(cost_usd=Decimal("0.45"))),
        (NOTHING, NOTHING),
    ],
)
def test_a_request_is_clamped_to_what_is_left(asked: Amounts, clamped: Amounts) -> None:
    assert Ledger.open(FULL).fit(ROOT, asked) == clamped


@pytest.mark.guarantee("A6")
def test_a_clamped_request_can_always_be_reserved() -> None:
    ledger = Ledger.open(FULL).reserve(ROOT, "first", Amounts(turns=3, tokens=333))
    huge = Amounts(turns=10**6, model_calls=10**6, tokens=10**6, cost_usd=Decimal(10**6))
    ledger = ledger.reserve(ROOT, "second", ledger.fit(ROOT, huge))
    assert ledger.fit(ROOT, huge).is_nothing


def test_what_is_not_limited_is_not_clamped() -> None:
    assert with_tokens(100).fit(ROOT, Amounts(turns=10**6)) == Amounts(turns=10**6)


@pytest.mark.guarantee("A4", "A6")
@pytest.mark.parametrize(
    ("kind", "ordinary", "closing"),
    [
        (TURNS, 9, 10),
        (LimitKind.MODEL_CALLS, 19, 20),
        (TOKENS, 900, 1_000),
        (COST, Decimal("0.45"), Decimal("0.5")),
    ],
)
def test_what_is_held_back_is_there_for_the_closing_turn_alone(
    kind: LimitKind, ordinary: Number, closing: Number
) -> None:
    ledger = Ledger.open(FULL)
    assert ledger.left(ROOT, kind) == ordinary
    assert ledger.left(ROOT, kind, closing=True) == closing


@pytest.mark.guarantee("A3", "A4")
def test_one_turn_alone_is_the_closing_turn() -> None:
    ledger = Ledger.open(Budget(turns=1))
    one = Amounts(turns=1)
    assert_refused(ledger, lambda books: books.reserve(ROOT, "turn", one), NotEnoughLeftError, "0 left")
    used = ledger.reserve(ROOT, "turn", one, closing=True).settle(ROOT, "turn", one)
    assert_refused(
        used, lambda books: books.reserve(ROOT, "another", one, closing=True), NotEnoughLeftError, "0 left"
    )


@pytest.mark.guarantee("A4")
def test_a_closing_call_is_clamped_to_all_that_is_left() -> None:
    ledger = with_tokens(1_000, finish_reserve=0.1).reserve(ROOT, "call", some(900))
    assert ledger.fit(ROOT, some(5_000)) == NOTHING
    assert ledger.fit(ROOT, some(5_000), closing=True) == some(100)


@pytest.mark.guarantee("A4", "A7")
def test_a_closing_turn_may_use_its_own_reserve_but_never_that_of_an_ancestor() -> None:
    ledger = Ledger.open(Budget(tokens=1_000, cost_usd=1, finish_reserve=0.1))
    ledger = ledger.carve(ROOT, "child", Budget(tokens=500, finish_reserve=0.2))
    assert (ledger.left("child", TOKENS), ledger.left("child", TOKENS, closing=True)) == (400, 500)
    assert ledger.left("child", COST) == ledger.left("child", COST, closing=True) == Decimal("0.9")


@pytest.mark.guarantee("A6")
def test_an_account_has_left_what_is_neither_used_nor_reserved_nor_held_back() -> None:
    account = Account(
        id=ROOT,
        budget=Budget(tokens=1_000, finish_reserve=0.1),
        granted=some(50),
        settled=some(300),
        reserved=some(200),
        overrun=some(7),
    )
    assert (account.left(TOKENS, keep_finish=False), account.left(TOKENS, keep_finish=True)) == (543, 443)
    assert account.left(TURNS, keep_finish=True) is None
    assert account.maximum(TURNS) is None
