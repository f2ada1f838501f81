"""Scopes in the ledger: carved from what is left above, bound by it, and given back to the last token."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from ledger_words import assert_refused, some, with_tokens

from endstop.errors import (
    ClosedAccountError,
    LedgerError,
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


@pytest.mark.guarantee("A7")
def test_a_carved_budget_is_held_in_the_parent() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=30))
    assert ledger.left(ROOT, TOKENS) == 70
    assert ledger.account("child").maximum(TOKENS) == 30
    assert ledger.account("child").parent == ROOT
    assert ledger.children(ROOT) == ("child",)


@pytest.mark.guarantee("A7")
def test_a_child_gets_at_most_what_its_parent_has_left() -> None:
    ledger = Ledger.open(FULL).reserve(ROOT, "call", Amounts(turns=4, tokens=300))
    ledger = ledger.carve(ROOT, "child", Budget(turns=8, tokens=5_000, cost_usd=10, finish_reserve=0))
    budget = ledger.account("child").budget
    assert (budget.turns, budget.tokens, budget.cost_usd) == (5, 600, Decimal("0.45"))
    assert budget.model_calls is None
    assert ledger.left(ROOT, TOKENS) == 0
    assert ledger.left(ROOT, TOKENS, closing=True) == 100


@pytest.mark.guarantee("A7")
def test_a_child_keeps_the_rest_of_the_budget_it_was_given() -> None:
    given = Budget(tokens=500, seconds=5, context_tokens=50, warn_at={"tokens": 0.5}, grant_cap=1)
    budget = with_tokens(100).carve(ROOT, "child", given).account("child").budget
    assert (budget.seconds, budget.context_tokens, budget.grant_cap) == (5.0, 50, 1)
    assert budget.limits[TOKENS].warning_value == 50


@pytest.mark.guarantee("A7")
def test_what_a_child_does_not_use_flows_back_when_it_ends() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=30, finish_reserve=0))
    ledger = ledger.reserve("child", "call", some(20)).settle("child", "call", some(12))
    assert ledger.left(ROOT, TOKENS) == 70
    ledger = ledger.close("child")
    assert ledger.left(ROOT, TOKENS) == 88
    assert ledger.account(ROOT).settled == some(12)
    assert ledger.account(ROOT).reserved == NOTHING
    assert ledger.children(ROOT) == ()


@pytest.mark.guarantee("A7")
def test_a_child_that_used_nothing_leaves_no_trace() -> None:
    assert with_tokens(100).carve(ROOT, "child", Budget(tokens=30)).close("child") == with_tokens(100)


@pytest.mark.guarantee("A7")
def test_a_child_cannot_use_more_than_was_carved_for_it() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=30, finish_reserve=0))
    assert_refused(
        ledger,
        lambda books: books.reserve("child", "call", some(31)),
        NotEnoughLeftError,
        "in 'child', 30 left",
    )


@pytest.mark.guarantee("A7")
def test_a_kind_that_a_child_has_no_limit_for_is_drawn_from_its_ancestors() -> None:
    ledger = Ledger.open(Budget(tokens=100, cost_usd=1, finish_reserve=0))
    ledger = ledger.carve(ROOT, "child", Budget(cost_usd="0.50", finish_reserve=0))
    ledger = ledger.reserve("child", "call", Amounts(tokens=40, cost_usd=Decimal("0.30")))
    assert (ledger.left(ROOT, TOKENS), ledger.left("child", TOKENS)) == (60, 60)
    assert (ledger.left(ROOT, COST), ledger.left("child", COST)) == (Decimal("0.5"), Decimal("0.2"))
    ledger = ledger.settle("child", "call", Amounts(tokens=10, cost_usd=Decimal("0.20")))
    assert ledger.account(ROOT).settled == some(10)
    ledger = ledger.close("child")
    assert ledger.account(ROOT).settled == Amounts(tokens=10, cost_usd=Decimal("0.20"))
    assert (ledger.left(ROOT, TOKENS), ledger.left(ROOT, COST)) == (90, Decimal("0.8"))


@pytest.mark.guarantee("A7")
def test_the_limit_of_a_parent_binds_a_child_without_limits() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(turns=5))
    assert_refused(
        ledger, lambda books: books.reserve("child", "call", some(101)), NotEnoughLeftError, "100 left"
    )


@pytest.mark.guarantee("A7")
def test_the_limit_of_a_run_binds_through_a_child_that_has_none() -> None:
    ledger = with_tokens(100).carve(ROOT, "phase", Budget()).carve("phase", "agent", Budget())
    ledger = ledger.reserve("agent", "call", some(60))
    assert [ledger.left(name, TOKENS) for name in (ROOT, "phase", "agent")] == [40, 40, 40]
    assert_refused(ledger, lambda books: books.reserve("agent", "again", some(41)), NotEnoughLeftError)
    assert_refused(ledger, lambda books: books.top_up("agent", "call", some(41)), NotEnoughLeftError)
    assert_refused(ledger, lambda books: books.reserve(ROOT, "call", some(41)), NotEnoughLeftError)


@pytest.mark.guarantee("A7")
def test_a_grandchild_is_carved_from_what_its_parent_has_left() -> None:
    ledger = with_tokens(100).carve(ROOT, "phase", Budget(tokens=50, finish_reserve=0))
    ledger = ledger.carve("phase", "agent", Budget(tokens=80, finish_reserve=0))
    assert ledger.account("agent").maximum(TOKENS) == 50
    assert [ledger.left(name, TOKENS) for name in (ROOT, "phase", "agent")] == [50, 0, 50]
    ledger = ledger.reserve("agent", "call", some(50)).settle("agent", "call", some(20)).close("agent")
    assert [ledger.left(name, TOKENS) for name in (ROOT, "phase")] == [50, 30]
    assert ledger.close("phase").left(ROOT, TOKENS) == 80


@pytest.mark.guarantee("A7")
def test_siblings_share_what_is_left_and_return_it_in_any_order() -> None:
    ledger = with_tokens(100)
    for name, share in (("a", 40), ("b", 40), ("c", 40)):
        ledger = ledger.carve(ROOT, name, Budget(tokens=share, finish_reserve=0))
    assert [ledger.left(name, TOKENS) for name in ("a", "b", "c", ROOT)] == [40, 40, 20, 0]
    ledger = ledger.close("b").close("c").close("a")
    assert ledger == with_tokens(100)


@pytest.mark.guarantee("A7")
def test_the_lineage_of_a_scope_goes_up_to_the_run() -> None:
    ledger = with_tokens(100).carve(ROOT, "phase", Budget()).carve("phase", "agent", Budget())
    assert [account.id for account in ledger.lineage("agent")] == ["agent", "phase", ROOT]
    assert (ledger.children(ROOT), ledger.children("agent")) == (("phase",), ())


@pytest.mark.guarantee("A7")
@pytest.mark.parametrize("kind", ["turns", "model_calls", "tokens", "cost_usd"])
def test_nothing_can_be_carved_from_nothing(kind: str) -> None:
    ledger = Ledger.open(FULL)
    everything = Amounts(turns=9, model_calls=19, tokens=900, cost_usd=Decimal("0.45"))
    ledger = ledger.reserve(ROOT, "call", everything)
    assert_refused(
        ledger,
        lambda books: books.carve(ROOT, "child", Budget(**{kind: 1})),  # pyright: ignore[reportArgumentType]
        NotEnoughLeftError,
        f"'run' has no {kind} left to give to 'child'.*Close what is open",
    )


@pytest.mark.guarantee("A7")
def test_a_carve_is_made_for_all_kinds_or_for_none() -> None:
    ledger = Ledger.open(FULL).reserve(ROOT, "call", some(900))
    assert_refused(
        ledger, lambda books: books.carve(ROOT, "child", Budget(turns=2, tokens=10)), NotEnoughLeftError
    )


@pytest.mark.guarantee("A7")
def test_too_little_money_to_be_a_limit_is_too_little_to_carve() -> None:
    ledger = Ledger.open(Budget(cost_usd="0.0000015", finish_reserve=0))
    ledger = ledger.reserve(ROOT, "call", Amounts(cost_usd=Decimal("0.000001")))
    assert_refused(
        ledger, lambda books: books.carve(ROOT, "child", Budget(cost_usd=1)), NotEnoughLeftError, "'child'"
    )


@pytest.mark.guarantee("A7")
@pytest.mark.parametrize("name", [ROOT, "child"])
def test_an_open_account_cannot_be_opened_again(name: str) -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=30))
    assert_refused(
        ledger,
        lambda books: books.carve(ROOT, name, Budget(tokens=30)),
        LedgerError,
        f"an open account '{name}'",
    )


@pytest.mark.guarantee("A7")
def test_a_name_can_be_used_again_after_its_account_was_closed() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=30)).close("child")
    assert ledger.carve(ROOT, "child", Budget(tokens=40)).account("child").maximum(TOKENS) == 40


@pytest.mark.guarantee("A7")
def test_what_is_held_for_an_open_child_cannot_be_settled_over_its_head() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=30, finish_reserve=0))
    (carved,) = ledger.account(ROOT).holds
    assert_refused(ledger, lambda books: books.settle(ROOT, carved, NOTHING), LedgerError)


@pytest.mark.guarantee("A7")
def test_an_account_with_calls_under_way_cannot_close() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=30)).reserve("child", "call", some(10))
    words = r"'child' cannot close: still open are call\. Settle its reservations"
    assert_refused(ledger, lambda books: books.close("child"), LedgerError, words)


@pytest.mark.guarantee("A7")
@pytest.mark.parametrize("budget", [Budget(tokens=10), Budget()])
def test_an_account_with_open_scopes_cannot_close(budget: Budget) -> None:
    ledger = with_tokens(100).carve(ROOT, "phase", Budget(tokens=30)).carve("phase", "agent", budget)
    assert_refused(ledger, lambda books: books.close("phase"), LedgerError, "'phase' cannot close.*agent")
    assert_refused(ledger, lambda books: books.close(ROOT), LedgerError, "'run' cannot close.*phase")


IN_A_CLOSED_ACCOUNT: dict[str, Callable[[Ledger], object]] = {
    "reserve": lambda books: books.reserve("child", "call", some(1)),
    "settle": lambda books: books.settle("child", "call", some(1)),
    "top_up": lambda books: books.top_up("child", "call", some(1)),
    "overrun": lambda books: books.overrun("child", some(1)),
    "held": lambda books: books.held("child", "call"),
    "grant": lambda books: books.grant("child", Grant(tokens=1, by="ada", why="more")),
    "carve": lambda books: books.carve("child", "grandchild", Budget(tokens=1)),
    "close": lambda books: books.close("child"),
    "left": lambda books: books.left("child", TOKENS),
    "fit": lambda books: books.fit("child", some(1)),
    "account": lambda books: books.account("child"),
}


@pytest.mark.guarantee("A6", "A7")
@pytest.mark.parametrize("entry", IN_A_CLOSED_ACCOUNT.values(), ids=IN_A_CLOSED_ACCOUNT)
def test_an_account_that_has_closed_takes_no_more_entries(entry: Callable[[Ledger], object]) -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=30)).close("child")
    words = r"There is no open account 'child'\. Allowed: run\. A run or scope that has ended"
    assert_refused(ledger, entry, ClosedAccountError, words)


@pytest.mark.guarantee("A6")
def test_when_the_run_has_closed_no_account_is_open() -> None:
    ledger = with_tokens(100).close(ROOT)
    assert dict(ledger.accounts) == {}
    assert_refused(
        ledger,
        lambda books: books.reserve(ROOT, "call", some(1)),
        ClosedAccountError,
        "none: the run has ended",
    )


@pytest.mark.guarantee("A6", "A7")
def test_an_overrun_in_a_child_is_the_parents_when_the_child_closes() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(tokens=30, finish_reserve=0))
    ledger = (
        ledger.reserve("child", "call", some(30)).settle("child", "call", some(30)).overrun("child", some(5))
    )
    assert ledger.account(ROOT).overrun == NOTHING
    ledger = ledger.close("child")
    assert (ledger.account(ROOT).settled, ledger.account(ROOT).overrun) == (some(30), some(5))
    assert ledger.left(ROOT, TOKENS) == 65


@pytest.mark.guarantee("A6", "A7")
def test_an_overrun_of_a_shared_kind_is_the_ancestors_at_once_and_only_once() -> None:
    ledger = with_tokens(100).carve(ROOT, "child", Budget(turns=3)).overrun("child", some(5))
    assert ledger.account(ROOT).overrun == some(5)
    assert ledger.close("child").account(ROOT).overrun == some(5)
