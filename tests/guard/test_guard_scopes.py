"""Scopes: parts of a run with budgets of their own."""

from __future__ import annotations

import pytest

import endstop as es
from endstop.errors import NotEnoughLeftError
from endstop.kernel.outcome import StopRule
from endstop.testing import FakeClock


@pytest.mark.guarantee("A7")
def test_what_a_scope_does_not_use_flows_back_exactly() -> None:
    guard = es.Guard(es.Budget(turns=10, tokens=1_000))
    with guard.scope(turns=5, tokens=400) as part, part.turn(reserve_tokens=100) as turn:
        turn.spent(input_tokens=70)
    assert part.outcome == es.Completed(answer="")
    assert (part.usage.turns, part.usage.tokens) == (1, 70)
    assert {meter.kind.value: meter.used for meter in guard.meters} == {"turns": 1, "tokens": 70}


@pytest.mark.guarantee("A7")
def test_a_scope_gets_no_more_than_is_left_beyond_the_closing_turn() -> None:
    guard = es.Guard(es.Budget(turns=5))
    with guard.scope(turns=100) as part:
        taken = 0
        while part.may_continue():
            with part.turn():
                taken += 1
        assert taken == 4
    assert guard.may_continue()
    with guard.turn() as turn:
        assert turn.is_last


@pytest.mark.guarantee("A7")
def test_a_scope_draws_on_its_parent_for_what_it_does_not_limit_itself() -> None:
    guard = es.Guard(es.Budget(turns=10, tokens=1_000, finish_reserve=0.1))
    part = guard.scope(turns=8)
    while part.may_continue():
        with part.turn(reserve_tokens=200) as turn:
            assert turn.max_tokens is not None
            turn.spent(input_tokens=turn.max_tokens)
    assert isinstance(part.outcome, es.Stopped)
    assert part.outcome.reason.rule is StopRule.TOKENS
    assert guard.usage.tokens == 900


@pytest.mark.guarantee("A7")
def test_a_scope_ends_with_its_parent() -> None:
    guard = es.Guard(es.Budget(turns=10))
    outer = guard.scope("outer", turns=5)
    inner = outer.scope("inner", turns=3)
    guard.finish("done")
    assert isinstance(guard.outcome, es.Completed)
    for part in (outer, inner):
        assert not part.may_continue()
        assert part.usage.turns == 0
        assert isinstance(part.outcome, es.Stopped)
        assert part.outcome.reason.rule is StopRule.PARENT
    assert guard.audit().holds


@pytest.mark.guarantee("A7")
def test_a_scope_never_outlives_the_time_of_its_parent() -> None:
    clock = FakeClock()
    guard = es.Guard(es.Budget(seconds=60, finish_reserve=0), clock=clock)
    part = guard.scope(seconds=1_000)
    clock.advance(60)
    assert not part.may_continue()
    assert isinstance(part.outcome, es.Stopped)
    assert part.outcome.reason.rule is StopRule.TIME


@pytest.mark.guarantee("A7", "A8")
def test_a_grant_to_a_scope_comes_out_of_what_its_parent_has() -> None:
    guard = es.Guard(es.Budget(turns=5))
    part = guard.scope(turns=2)
    part.grant(es.Grant(turns=2, by="me", why="more"))
    with pytest.raises(NotEnoughLeftError):
        part.grant(es.Grant(turns=1, by="me", why="still more"))


@pytest.mark.guarantee("A7")
def test_nothing_left_means_no_scope() -> None:
    guard = es.Guard(es.Budget(turns=1))
    before = guard.facts
    with pytest.raises(NotEnoughLeftError, match="no turns left to give"):
        guard.scope(turns=1)
    assert guard.facts == before


def test_a_scope_that_fails_leaves_its_parent_to_go_on() -> None:
    guard = es.Guard(es.Budget(turns=5))
    with pytest.raises(ValueError, match="boom"), guard.scope(turns=2) as part:
        raise ValueError("boom")
    assert isinstance(part.outcome, es.Failed)
    assert guard.may_continue()


def test_stuck_in_a_scope_ends_the_scope_and_not_the_run() -> None:
    guard = es.Guard(es.Budget(turns=30))
    with guard.scope(turns=10) as part:
        while part.may_continue():
            with part.turn() as turn:
                turn.called("search", {"q": 1})
    assert isinstance(part.outcome, es.Stopped)
    assert part.outcome.reason.rule is StopRule.NO_PROGRESS
    assert guard.may_continue()


@pytest.mark.guarantee("A2")
def test_a_shared_limit_warns_once_for_all_scopes() -> None:
    guard = es.Guard(es.Budget(tokens=1_000, turns=20))
    for _ in range(2):
        with guard.scope(turns=5) as part:
            for _ in range(2):
                if part.may_continue():
                    with part.turn(reserve_tokens=230) as turn:
                        turn.spent(input_tokens=230)
    assert [fact.type for fact in guard.facts].count("budget.token.warning") <= 1
    guard.finish()
    assert guard.audit().holds


def test_scopes_get_names_of_their_own() -> None:
    guard = es.Guard(es.Budget(turns=30))
    guard.scope(turns=1)
    guard.scope(turns=1)
    with pytest.raises(es.errors.LedgerError, match="already"):
        guard.scope("scope-1", turns=1)
    with guard.scope("once", turns=1):
        pass
    with pytest.raises(es.errors.LedgerError, match="already"):
        guard.scope("once", turns=1)


@pytest.mark.guarantee("A10")
def test_a_scope_treats_unknown_prices_as_its_run_does() -> None:
    guard = es.Guard(es.Budget(turns=9, cost_usd=1, unknown_price="warn"))
    with guard.scope(turns=2, cost_usd="0.50") as part:
        while part.may_continue():
            with part.turn() as turn:
                turn.spent(input_tokens=10)
    assert isinstance(part.outcome, es.Stopped)
    assert [fact.type for fact in guard.facts].count("budget.price_unknown") == 1


def test_a_scope_that_a_dead_process_had_open_can_be_taken_up_again() -> None:
    guard = es.Guard(es.Budget(turns=9))
    part = guard.scope("research", turns=4)
    with part.turn():
        pass
    again = es.Guard.resume(guard.facts)
    (taken_up,) = again.open_scopes
    assert taken_up.name == "research"
    assert taken_up.usage.turns == 1
    with taken_up, taken_up.turn() as turn:
        assert turn.number == 1
    assert again.usage.turns == 2
    assert again.open_scopes == ()
