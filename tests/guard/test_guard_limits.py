"""The guard keeps a loop inside its budget, and says so in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

import endstop as es
from endstop.errors import ClosedAccountError, InvalidValueError, ObservationError, UnboundedError
from endstop.guard import Turn
from endstop.kernel.limits import LimitKind
from endstop.kernel.outcome import StopRule
from endstop.testing import FakeClock


def take_turns(guard: es.Guard, *, tokens: int = 100, most: int = 1_000) -> list[Turn]:
    """Turns of an agent that always does something new, until the guard says no."""
    turns: list[Turn] = []
    while guard.may_continue() and len(turns) < most:
        with guard.turn(reserve_tokens=tokens) as turn:
            turn.spent(input_tokens=tokens)
            turn.called("read", {"page": len(turns)}, result=f"page {len(turns)}")
            turns.append(turn)
    return turns


@pytest.mark.guarantee("A3")
@pytest.mark.parametrize("max_turns", [1, 2, 5, 30])
def test_exactly_as_many_turns_as_allowed(max_turns: int) -> None:
    guard = es.Guard(es.Budget(turns=max_turns))
    assert len(take_turns(guard)) == max_turns
    assert guard.usage.turns == max_turns
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.rule is StopRule.TURNS
    assert guard.outcome.reason.message == f"Iteration limit reached ({max_turns}/{max_turns})."


@pytest.mark.guarantee("A3", "A5")
def test_one_turn_ends_with_an_explanation() -> None:
    guard = es.Guard(es.Budget(turns=1))
    take_turns(guard)
    assert "Stopped after 1 turn: iteration limit." in str(guard.explain())


@pytest.mark.guarantee("A2")
def test_the_wrap_up_hint_comes_once_at_the_threshold_turn() -> None:
    guard = es.Guard(es.Budget(turns=10))
    hints = [turn.hint for turn in take_turns(guard)]
    assert hints[:7] == [None] * 7
    assert hints[7] == "Approaching iteration limit (7/10). Consider wrapping up your response."
    assert hints[8] is None


@pytest.mark.guarantee("A2")
def test_a_warning_is_one_fact_per_limit() -> None:
    guard = es.Guard(es.Budget(turns=10, tokens=1_000))
    take_turns(guard)
    warned = [fact.type for fact in guard.facts if fact.type.endswith(".warning")]
    assert warned == ["budget.iteration.warning", "budget.token.warning"]


@pytest.mark.guarantee("A4")
def test_the_last_turn_is_told_and_is_part_of_the_budget() -> None:
    turns = take_turns(es.Guard(es.Budget(turns=3)))
    assert [turn.is_last for turn in turns] == [False, False, True]
    assert turns[-1].hint is not None
    assert turns[-1].hint.startswith("This is your last turn: the iteration limit is reached after it.")


@pytest.mark.guarantee("A4", "A6")
def test_a_closing_turn_is_paid_from_what_was_held_back() -> None:
    guard = es.Guard(es.Budget(tokens=1_000, finish_reserve=0.2))
    turns = take_turns(guard, tokens=300)
    assert [turn.is_last for turn in turns] == [False, False, True]
    assert [turn.max_tokens for turn in turns][:1] == [300]
    assert guard.usage.tokens == 900
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.rule is StopRule.TOKENS


@pytest.mark.guarantee("A6")
def test_the_output_cap_is_clamped_to_what_is_left() -> None:
    guard = es.Guard(es.Budget(tokens=1_000, finish_reserve=0))
    with guard.turn(reserve_tokens=900) as turn:
        turn.spent(input_tokens=900)
    assert guard.may_continue()
    with guard.turn(reserve_tokens=900) as turn:
        assert turn.max_tokens == 100
        turn.spent(input_tokens=100)
    assert not guard.may_continue()


@pytest.mark.guarantee("A6")
def test_a_turn_that_tells_no_usage_is_settled_at_its_reservation_never_at_zero() -> None:
    guard = es.Guard(es.Budget(tokens=1_000))
    with pytest.raises(RuntimeError, match="cut off"), guard.turn(reserve_tokens=400):
        raise RuntimeError("cut off")
    assert guard.usage.tokens == 400
    assert guard.usage.turns == 1


@pytest.mark.guarantee("A6", "A14")
def test_usage_past_everything_that_was_left_is_shown_and_breaks_the_audit() -> None:
    guard = es.Guard(es.Budget(tokens=1_000))
    with guard.turn(reserve_tokens=100) as turn:
        turn.spent(input_tokens=5_000)
    assert not guard.may_continue()
    assert guard.usage.tokens == 5_000
    assert "budget.overrun" in [fact.type for fact in guard.facts]
    assert not guard.audit().holds


def test_several_reports_of_usage_in_one_turn_add_up_to_one_model_call() -> None:
    guard = es.Guard(es.Budget(tokens=1_000))
    with guard.turn(reserve_tokens=100) as turn:
        turn.spent(input_tokens=60)
        turn.spent(output_tokens=30)
    assert (guard.usage.tokens, guard.usage.model_calls) == (90, 1)


@pytest.mark.guarantee("A1")
def test_model_calls_can_be_limited() -> None:
    guard = es.Guard(es.Budget(model_calls=4))
    assert len(take_turns(guard)) == 4
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.rule is StopRule.MODEL_CALLS


@pytest.mark.guarantee("A1", "A2")
def test_the_context_can_be_limited_and_warns_at_seventy_percent() -> None:
    guard = es.Guard(es.Budget(turns=10, context_tokens=1_000))
    for size in (690, 700, 1_000):
        assert guard.may_continue()
        with guard.turn() as turn:
            turn.measured_context(size)
    assert [fact.type for fact in guard.facts if "context" in fact.type and "budget" in fact.type] == [
        "budget.context.warning"
    ]
    assert not guard.may_continue()
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.rule is StopRule.CONTEXT


@pytest.mark.guarantee("A1", "A9")
def test_time_ends_a_run_and_waiting_for_a_person_is_not_charged() -> None:
    clock = FakeClock()
    guard = es.Guard(es.Budget(seconds=60), clock=clock)
    with guard.waiting("asking the user"):
        clock.advance(1_000)
    assert guard.may_continue()
    with guard.turn() as turn:
        assert turn.seconds_left == pytest.approx(60)
        clock.advance(61)
        assert turn.must_stop is not None
    assert not guard.may_continue()
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.rule is StopRule.TIME
    assert guard.usage.seconds == pytest.approx(61)


@pytest.mark.guarantee("A4")
def test_time_that_runs_short_leaves_a_closing_turn() -> None:
    clock = FakeClock()
    guard = es.Guard(es.Budget(seconds=100, finish_reserve=0.1), clock=clock)
    clock.advance(91)
    assert guard.may_continue()
    with guard.turn() as turn:
        assert turn.is_last
    assert not guard.may_continue()


@pytest.mark.guarantee("A10")
def test_an_unknown_price_under_a_cost_limit_ends_the_run_by_default() -> None:
    guard = es.Guard(es.Budget(turns=10, cost_usd="1.00"))
    with guard.turn() as turn:
        turn.spent(input_tokens=100)
    assert not guard.may_continue()
    assert isinstance(guard.outcome, es.Failed)
    assert guard.outcome.code == "price_unknown"
    assert guard.usage.cost_usd is None


@pytest.mark.guarantee("A10")
def test_an_unknown_price_can_be_warned_about_instead_once() -> None:
    guard = es.Guard(es.Budget(turns=3, cost_usd="1.00", unknown_price="warn"))
    take_turns(guard)
    assert [fact.type for fact in guard.facts].count("budget.price_unknown") == 1
    assert guard.usage.cost_shown == "unknown"


@pytest.mark.guarantee("A6", "A10")
def test_a_reserved_cost_stands_in_for_one_that_is_not_told() -> None:
    guard = es.Guard(es.Budget(turns=3, cost_usd="1.00"))
    with guard.turn(reserve_cost_usd="0.25") as turn:
        turn.spent(input_tokens=100)
    assert str(guard.usage.cost_usd) == "0.25"
    assert guard.may_continue()


@pytest.mark.guarantee("A1")
def test_cost_is_counted_exactly_and_ends_the_run() -> None:
    guard = es.Guard(es.Budget(turns=100, cost_usd="0.30", finish_reserve=0))
    while guard.may_continue():
        with guard.turn(reserve_cost_usd="0.1") as turn:
            turn.spent(cost_usd=0.1)
    assert str(guard.usage.cost_usd) == "0.3"
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.rule is StopRule.COST


@pytest.mark.guarantee("A8")
def test_a_grant_raises_the_limit_and_resets_nothing() -> None:
    guard = es.Guard(es.Budget(turns=3))
    take_turns(guard, most=2)
    guard.grant(es.Grant(turns=2, by="me", why="nearly there"))
    assert len(take_turns(guard)) == 3
    assert guard.usage.turns == 5


@pytest.mark.guarantee("A8")
def test_grants_have_a_cap() -> None:
    guard = es.Guard(es.Budget(turns=3, grant_cap=1))
    guard.grant(es.Grant(turns=3, by="me", why="more"))
    with pytest.raises(es.errors.GrantRefusedError, match="would pass the cap"):
        guard.grant(es.Grant(turns=1, by="me", why="still more"))


@pytest.mark.guarantee("A13")
def test_a_budget_without_a_bound_is_refused() -> None:
    with pytest.raises(UnboundedError, match="no limit"):
        es.Guard(es.Budget())
    with pytest.raises(UnboundedError, match="calls may be free"):
        es.Guard(es.Budget(cost_usd=1))


@pytest.mark.guarantee("A13")
def test_the_upper_bound_is_known_before_the_first_turn() -> None:
    guard = es.Guard(es.Budget(turns=30, tokens=200_000, cost_usd="0.50", tool_calls_per_turn=10))
    assert str(guard.upper_bound) == (
        "turns ≤ 30, model calls ≤ 30, tool calls ≤ 300, tokens ≤ 200,000, cost ≤ $0.50, time unbounded"
    )


def test_meters_show_what_is_used_of_each_limit() -> None:
    guard = es.Guard(es.Budget(turns=10, tokens=1_000))
    take_turns(guard, most=3)
    assert {meter.kind: meter.shown for meter in guard.meters} == {
        LimitKind.TURNS: "3/10",
        LimitKind.TOKENS: "300/1,000",
    }


MISUSES: list[Callable[[Any, Any], object]] = [
    lambda guard, turn: turn.spent(input_tokens=-1),
    lambda guard, turn: turn.spent(input_tokens=1.5),
    lambda guard, turn: turn.spent(cost_usd="much"),
    lambda guard, turn: turn.spent(cost_usd=float("nan")),
    lambda guard, turn: turn.spent(cost_usd=-1),
    lambda guard, turn: turn.measured_context(-5),
    lambda guard, turn: guard.turn(reserve_tokens=-1),
    lambda guard, turn: guard.turn(reserve_cost_usd="a lot"),
    lambda guard, turn: guard.cancel(by=" "),
    lambda guard, turn: guard.cancel(by=None),
    lambda guard, turn: guard.user_said(7),
    lambda guard, turn: guard.finish(None),
    lambda guard, turn: guard.grant(10),
    lambda guard, turn: guard.scope("", turns=1),
    lambda guard, turn: guard.waiting(None),
    lambda guard, turn: guard.iteration_ended(issues=[3]),
    lambda guard, turn: guard.iteration_ended(failing_tests=-1),
    lambda guard, turn: guard.iteration_ended(lines_of_code="many"),
    lambda guard, turn: guard.iteration_ended(cost_usd="much"),
    lambda guard, turn: turn.called(None),
    lambda guard, turn: turn.called("  "),
    lambda guard, turn: turn.refusal(7),
    lambda guard, turn: turn.said(b"bytes"),
    lambda guard, turn: turn.streamed(None),
    lambda guard, turn: turn.finished(3),
    lambda guard, turn: es.Guard(es.Budget(turns=3), detectors=[cast("Any", 7)]),
    lambda guard, turn: es.Guard(cast("Any", 30)),
    lambda guard, turn: es.Guard(es.Budget(turns=3), responses={"identical_call": "explode"}),
]


@pytest.mark.parametrize("misuse", MISUSES)
def test_bad_values_are_refused_clearly_and_lose_nothing(misuse: Callable[[Any, Any], object]) -> None:
    guard = es.Guard(es.Budget(turns=10))
    with guard.turn() as turn:
        before = guard.facts
        with pytest.raises(InvalidValueError, match="Allowed: "):
            misuse(guard, turn)
        assert guard.facts == before


def test_a_turn_takes_reports_only_while_it_is_open() -> None:
    guard = es.Guard(es.Budget(turns=10))
    turn = guard.turn()
    with pytest.raises(ObservationError, match="not open"):
        turn.spent(input_tokens=1)
    with turn:
        pass
    with pytest.raises(ObservationError, match="not open"):
        turn.said("too late")
    with pytest.raises(ObservationError, match="entered before"), turn:
        pass


def test_a_turn_cannot_be_taken_when_the_answer_is_no() -> None:
    guard = es.Guard(es.Budget(turns=1))
    take_turns(guard)
    with pytest.raises(ClosedAccountError, match="has ended"), guard.turn():
        pass
    other = es.Guard(es.Budget(turns=1))
    with other.turn():
        pass
    with pytest.raises(ClosedAccountError, match=r"Iteration limit reached \(1/1\)"), other.turn():
        pass


def test_after_the_end_nothing_can_be_added() -> None:
    guard = es.Guard(es.Budget(turns=1))
    take_turns(guard)
    before = guard.facts
    late_entries: list[Callable[[], object]] = [
        lambda: guard.grant(es.Grant(turns=1, by="me", why="more")),
        lambda: guard.finish(),
        lambda: guard.user_said("hello"),
        lambda: guard.scope(turns=1),
    ]
    for late in late_entries:
        with pytest.raises(ClosedAccountError, match="has ended"):
            late()
    guard.cancel()
    assert guard.facts == before
    assert not guard.may_continue()
    assert [meter.shown for meter in guard.meters] == ["1/1"]


@pytest.mark.guarantee("A13")
def test_a_token_limit_alone_ends_even_a_loop_that_never_tells_its_usage() -> None:
    guard = es.Guard(es.Budget(tokens=10))
    turns = 0
    while guard.may_continue():
        with guard.turn() as turn:
            turn.spent(input_tokens=0)
            turns += 1
    assert guard.upper_bound.turns == turns == 10


def test_a_turn_that_reserves_nothing_is_not_offered_the_finish_reserve() -> None:
    guard = es.Guard(es.Budget(tokens=1_000, finish_reserve=0.1))
    with guard.turn() as turn:
        assert turn.max_tokens == 900


@pytest.mark.guarantee("A9")
def test_waits_inside_waits_are_one_wait() -> None:
    clock = FakeClock()
    guard = es.Guard(es.Budget(seconds=60), clock=clock)
    with guard.waiting("a review"):
        with guard.waiting("a question in it"):
            clock.advance(100)
        clock.advance(100)
    assert guard.usage.seconds == 0
    assert [fact.type for fact in guard.facts].count("run.paused") == 1


def test_what_is_not_limited_is_not_capped() -> None:
    guard = es.Guard(es.Budget(turns=3), run_id="mine")
    with guard.turn(reserve_tokens=10) as turn:
        assert turn.max_tokens is None
        assert turn.seconds_left is None
    assert turn.number == 0
    assert guard.run_id == "mine"
    with pytest.raises(ObservationError, match="not entered"):
        _ = guard.turn().number


def test_the_meters_of_a_scope_that_ended_are_gone() -> None:
    guard = es.Guard(es.Budget(turns=3))
    with guard.scope(turns=1) as part:
        assert [meter.shown for meter in part.meters] == ["0/1"]
    with pytest.raises(ClosedAccountError, match="has ended"):
        _ = part.meters
