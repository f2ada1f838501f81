"""The ledger under random entries, refused ones included: what must hold after every single one of them."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, event, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from endstop.errors import LedgerError
from endstop.kernel.amounts import NOTHING, SPENT_KINDS, Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.ledger import ROOT, Account, Ledger
from endstop.kernel.limits import LimitKind, Number, minus, plus

MOST_SCOPES = 8
DEEPEST = 3
RESERVATION_NAMES = ("first", "second", "third")
RESERVATIONS = st.sampled_from(RESERVATION_NAMES)
PLACES = st.integers(min_value=0, max_value=1_000)
"""Which of the accounts that there are or were; taken modulo their number."""


def counts(largest: int) -> st.SearchStrategy[int]:
    return st.integers(min_value=0, max_value=largest)


def cents(largest: int) -> st.SearchStrategy[Decimal]:
    return counts(largest).map(lambda number: Decimal(number) / 100)


def amounts(largest: int = 10) -> st.SearchStrategy[Amounts]:
    """Small amounts, so that small limits are met."""
    return st.builds(
        Amounts,
        turns=counts(2),
        model_calls=counts(2),
        tokens=counts(largest),
        cost_usd=cents(largest),
    )


def budgets(largest: int) -> st.SearchStrategy[Budget]:
    """Any set of limits, now and then without one or all of them."""
    limit = st.none() | st.integers(min_value=1, max_value=largest)
    return st.builds(
        Budget,
        turns=limit,
        model_calls=limit,
        tokens=limit,
        cost_usd=st.none() | cents(largest).filter(bool),
        finish_reserve=st.sampled_from([0, 0.1, 0.5]),
        grant_cap=st.sampled_from([0, 1.0, 3.0]),
    )


def grants() -> st.SearchStrategy[Grant]:
    """A grant of one kind: of several at once, one is nearly always unlimited."""
    some = st.integers(min_value=1, max_value=8)
    kinds: dict[str, st.SearchStrategy[int] | st.SearchStrategy[Decimal]] = {
        "turns": some,
        "model_calls": some,
        "tokens": some,
        "cost_usd": cents(8).filter(bool),
    }
    return st.sampled_from(sorted(kinds)).flatmap(
        lambda kind: st.builds(Grant, **{kind: kinds[kind]}, by=st.just("ada"), why=st.just("nearly done"))
    )


class LedgerMachine(RuleBasedStateMachine):
    """Makes any entry in any account, and knows independently of the ledger what was spent in all."""

    seen: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger.open(Budget())
        self.names = [ROOT]
        """Every account that was ever opened."""
        self.carves: dict[str, str] = {}
        self.settled = NOTHING
        self.overrun = NOTHING

    @initialize(budget=budgets(30))
    def start(self, budget: Budget) -> None:
        self.ledger = Ledger.open(budget)

    @rule(place=PLACES, reservation=RESERVATIONS, asked=amounts(), closing=st.booleans())
    def reserve(self, place: int, reservation: str, asked: Amounts, closing: bool) -> None:
        name = self.name(place)
        self.entered("reserve", lambda books: books.reserve(name, reservation, asked, closing=closing))

    @rule(place=PLACES, reservation=RESERVATIONS, asked=amounts(40), closing=st.booleans())
    def reserve_what_fits(self, place: int, reservation: str, asked: Amounts, closing: bool) -> None:
        name = self.name(place, is_open=True)
        if reservation in self.ledger.account(name).holds:
            return
        fitting = self.ledger.fit(name, asked, closing=closing)
        assert fitting.minus(asked).is_nothing, "never more than was asked for"
        made = self.entered(
            "reserve what fits", lambda books: books.reserve(name, reservation, fitting, closing=closing)
        )
        assert made, "what fits can be reserved"

    @rule(place=PLACES, which=PLACES, asked=amounts(5), closing=st.booleans())
    def top_up(self, place: int, which: int, asked: Amounts, closing: bool) -> None:
        name = self.name(place)
        reservation = self.reservation(name, which)
        self.entered("top up", lambda books: books.top_up(name, reservation, asked, closing=closing))

    @rule(place=PLACES, which=PLACES, used=amounts(), final=st.booleans())
    def settle(self, place: int, which: int, used: Amounts, final: bool) -> None:
        name = self.name(place)
        reservation = self.reservation(name, which)
        if self.entered("settle", lambda books: books.settle(name, reservation, used, final=final)):
            self.settled = self.settled.plus(used)

    @rule(place=PLACES, reservation=RESERVATIONS, spared=amounts(5), final=st.booleans())
    def settle_within(self, place: int, reservation: str, spared: Amounts, final: bool) -> None:
        name = self.name(place, is_open=True)
        if reservation not in self.ledger.account(name).holds:
            return
        used = self.ledger.held(name, reservation).minus(spared)
        kind = "settle" if final else "settle a part"
        assert self.entered(kind, lambda books: books.settle(name, reservation, used, final=final))
        self.settled = self.settled.plus(used)

    @rule(place=PLACES, past=amounts(3))
    def go_over(self, place: int, past: Amounts) -> None:
        name = self.name(place)
        if self.entered("overrun", lambda books: books.overrun(name, past)):
            self.overrun = self.overrun.plus(past)

    @rule(place=PLACES, grant=grants())
    def grant(self, place: int, grant: Grant) -> None:
        name = self.name(place)
        self.entered("grant", lambda books: books.grant(name, grant))

    @precondition(lambda self: len(self.ledger.accounts) < MOST_SCOPES)
    @rule(place=PLACES, budget=budgets(12))
    def carve(self, place: int, budget: Budget) -> None:
        parent = self.name(place)
        if parent in self.ledger.accounts and len(list(self.ledger.lineage(parent))) > DEEPEST:
            return
        child = f"scope {len(self.names)}"
        if self.entered("carve", lambda books: books.carve(parent, child, budget)):
            self.names.append(child)
            self.carves[child] = [*self.ledger.account(parent).holds][-1]
            self.noted(f"carve at depth {len(list(self.ledger.lineage(child))) - 1}")
            if len(self.ledger.children(parent)) > 1:
                self.noted("carve beside a sibling")

    @rule(place=PLACES)
    def close(self, place: int) -> None:
        name = self.name(place)
        if name != ROOT:
            self.closed(name)

    @precondition(lambda self: len(self.ledger.accounts) > 1)
    @rule(place=PLACES)
    def settle_up_and_close_a_leaf(self, place: int) -> None:
        leaves = [name for name in self.ledger.accounts if name != ROOT and not self.ledger.children(name)]
        self.close_leaf(leaves[place % len(leaves)])

    @invariant()
    def nothing_passes_a_limit(self) -> None:
        for account in self.ledger.accounts.values():
            for kind in SPENT_KINDS:
                maximum = account.maximum(kind)
                bound = plus(account.settled.of(kind), account.reserved.of(kind))
                assert maximum is None or bound <= maximum, f"{kind} of {account.id}"

    @invariant()
    def a_limit_is_what_was_first_given_and_granted(self) -> None:
        for account in self.ledger.accounts.values():
            for kind in SPENT_KINDS:
                first = account.budget.maximum(kind)
                if first is not None:
                    assert account.maximum(kind) == plus(first, account.granted.of(kind))
                    cap = Decimal(first) * Decimal(str(account.budget.grant_cap))
                    assert account.granted.of(kind) <= cap, "grants stay under their cap"

    @invariant()
    def a_scope_never_has_more_than_its_parent_holds_for_it(self) -> None:
        for account in self.ledger.accounts.values():
            if account.parent is None:
                continue
            held = self.ledger.held(account.parent, self.carves[account.id])
            for kind in own_kinds(account):
                assert held.of(kind) == account.maximum(kind)
                assert plus(account.settled.of(kind), account.reserved.of(kind)) <= held.of(kind)

    @invariant()
    def what_is_reserved_is_held_by_somebody(self) -> None:
        for account in self.ledger.accounts.values():
            for kind in SPENT_KINDS:
                held: Number = 0
                for amount in account.holds.values():
                    held = plus(held, amount.of(kind))
                for child in self.ledger.children(account.id):
                    below = self.ledger.account(child)
                    if kind not in own_kinds(below):
                        held = plus(held, below.reserved.of(kind))
                assert account.reserved.of(kind) == held, f"{kind} of {account.id}"

    def teardown(self) -> None:
        """When every scope has closed, the run has spent exactly what was spent in all of them."""
        while leaves := [name for name in self.ledger.accounts if not self.ledger.children(name)]:
            if leaves == [ROOT]:
                break
            self.close_leaf(next(name for name in leaves if name != ROOT))
        run = self.ledger.account(ROOT)
        assert (run.settled, run.overrun) == (self.settled, self.overrun)

    def name(self, place: int, *, is_open: bool = False) -> str:
        """One of the open accounts or, unless it must be open, the last that has closed."""
        opened = [name for name in self.names if name in self.ledger.accounts]
        closed = [name for name in self.names if name not in self.ledger.accounts]
        names = opened if is_open else [*opened, *closed[-1:]]
        return names[place % len(names)]

    def reservation(self, name: str, which: int) -> str:
        """A reservation of a call in an account, or one that was never made."""
        account = self.ledger.accounts.get(name)
        held = [] if account is None else [name for name in account.holds if name in RESERVATION_NAMES]
        return [*held, "never made"][which % (len(held) + 1)]

    def entered(self, what: str, entry: Callable[[Ledger], Ledger]) -> bool:
        """Make an entry. Refused or not, the ledger that it was made in is as before."""
        before = self.ledger
        as_text = repr(before)
        try:
            after = entry(before)
        except LedgerError as refusal:
            self.noted(f"{what} refused: {type(refusal).__name__}")
            after = None
        assert repr(before) == as_text
        if after is None:
            return False
        self.noted(what)
        assert_no_counter_fell(before, after)
        self.ledger = after
        return True

    def close_leaf(self, name: str) -> None:
        """Settle whatever is under way at nothing, and close."""
        for reservation in self.ledger.account(name).holds:
            self.ledger = self.ledger.settle(name, reservation, NOTHING)
        assert self.closed(name), "an account without open holds can close"

    def closed(self, name: str) -> bool:
        """Close an account, and see that exactly what it did not use flowed back."""
        before = self.ledger
        if not self.entered("close", lambda books: books.close(name)):
            return False
        account = before.account(name)
        assert account.parent is not None
        old, new = before.account(account.parent), self.ledger.account(account.parent)
        for kind in SPENT_KINDS:
            maximum = account.maximum(kind)
            back = 0 if maximum is None else minus(maximum, account.used(kind))
            assert taken(new, kind) == minus(taken(old, kind), back), f"{kind} flows back to {account.parent}"
            limit = new.maximum(kind)
            if limit is not None:
                left = self.ledger.left(account.parent, kind, closing=True)
                assert left == max(minus(plus(minus(limit, taken(old, kind)), back), 0), 0)
        return True

    def noted(self, what: str) -> None:
        event(what)
        self.seen[what] += 1


def own_kinds(account: Account) -> list[LimitKind]:
    """The kinds that an account has a limit of its own for."""
    return [kind for kind in SPENT_KINDS if account.budget.maximum(kind) is not None]


def taken(account: Account, kind: LimitKind) -> Number:
    return plus(account.used(kind), account.reserved.of(kind))


def assert_no_counter_fell(before: Ledger, after: Ledger) -> None:
    for name in before.accounts.keys() & after.accounts.keys():
        old, new = before.account(name), after.account(name)
        for kind in SPENT_KINDS:
            assert old.settled.of(kind) <= new.settled.of(kind)
            assert old.granted.of(kind) <= new.granted.of(kind)
            assert old.overrun.of(kind) <= new.overrun.of(kind)


LedgerMachine.TestCase.settings = settings(
    max_examples=300,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

TestLedgerInAnyOrder = pytest.mark.guarantee("A6", "A7", "A8")(LedgerMachine.TestCase)


REACHED = {
    *("reserve", "reserve what fits", "top up", "settle", "settle a part", "overrun"),
    *("grant", "carve beside a sibling", "close"),
    *(f"carve at depth {depth}" for depth in range(1, DEEPEST + 1)),
    "reserve refused: NotEnoughLeftError",
    "reserve refused: LedgerError",
    "reserve refused: ClosedAccountError",
    "top up refused: NotEnoughLeftError",
    "top up refused: UnknownReservationError",
    "settle refused: OverReservationError",
    "settle refused: UnknownReservationError",
    "grant refused: GrantRefusedError",
    "grant refused: NotEnoughLeftError",
    "carve refused: NotEnoughLeftError",
    "carve refused: ClosedAccountError",
    "close refused: LedgerError",
    "close refused: ClosedAccountError",
}


def test_the_random_entries_reach_every_kind_of_refusal_and_ending() -> None:
    class CountedMachine(LedgerMachine):
        seen: ClassVar[Counter[str]] = Counter()

    few = settings(LedgerMachine.TestCase.settings, max_examples=40, database=None)
    for batch in range(10):
        run_state_machine_as_test(seed(batch)(CountedMachine), settings=few)  # pyright: ignore[reportUnknownMemberType]
        if CountedMachine.seen.keys() >= REACHED:
            break
    assert REACHED - CountedMachine.seen.keys() == set()
