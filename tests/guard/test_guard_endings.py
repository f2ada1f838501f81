"""How a guarded loop ends, and what is kept."""

from __future__ import annotations

import pytest

import endstop as es
from endstop.kernel.outcome import TRUNCATED_NOTE, StopRule
from endstop.testing import FakeClock


def repeat(guard: es.Guard, *, most: int = 50) -> None:
    """An agent that asks for the same thing for ever."""
    for _ in range(most):
        if not guard.may_continue():
            return
        with guard.turn() as turn:
            turn.called("search", {"q": "login"}, result="nothing")


@pytest.mark.guarantee("B1", "B8", "A12")
def test_a_loop_that_repeats_itself_is_stopped_with_its_evidence() -> None:
    guard = es.Guard(es.Budget(turns=30))
    repeat(guard)
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.rule is StopRule.NO_PROGRESS
    finding = guard.outcome.reason.finding
    assert finding is not None
    assert [(one.turn, one.call) for one in finding.evidence] == [(0, "1.1"), (1, "2.1"), (2, "3.1")]
    assert finding.advice
    explained = str(guard.explain())
    assert 'turn 1, call 1.1: search({"q":"login"})' in explained
    assert "3 times in a row" in explained


@pytest.mark.guarantee("B8")
def test_what_a_finding_leads_to_is_for_the_policy_to_say() -> None:
    guard = es.Guard(es.Budget(turns=8), responses={"identical_call": "nudge"})
    hints: list[str | None] = []
    while guard.may_continue():
        with guard.turn() as turn:
            hints.append(turn.hint)
            turn.called("search", {"q": "login"}, result="nothing")
    assert guard.usage.turns == 8
    assert hints[3] is not None
    assert "3 times in a row" in hints[3]
    assert "agent.loop.detected" in [fact.type for fact in guard.facts]


@pytest.mark.guarantee("B2")
def test_three_errors_in_a_row_end_the_run_at_its_error_limit() -> None:
    guard = es.Guard(es.Budget(turns=30))
    while guard.may_continue():
        with guard.turn() as turn:
            turn.called("fetch", {"page": turn.number}, ok=False, result=f"HTTP {500 + turn.number}")
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.rule is StopRule.ERROR_LIMIT
    assert guard.usage.turns == 3


@pytest.mark.guarantee("B5")
def test_a_call_that_keeps_failing_is_refused_and_the_model_told_to_try_otherwise() -> None:
    guard = es.Guard(es.Budget(turns=30), responses={"identical_call": "go_on", "error_streak": "go_on"})
    for attempt in range(3):
        with guard.turn() as turn:
            assert turn.refusal("fetch", {"url": "x"}) is None
            turn.called("fetch", {"url": "x"}, ok=False, result=f"timed out at 12:00:0{attempt}")
    with guard.turn() as turn:
        assert turn.hint is not None
        refusal = turn.refusal("fetch", {"url": "x"})
        assert refusal is not None
        assert "Try something else" in refusal
        assert turn.refusal("fetch", {"url": "y"}) is None
        turn.called("write", {"file": "a"}, changes_something=True, result="written")
        assert turn.refusal("fetch", {"url": "x"}) is None
    assert [fact.type for fact in guard.facts].count("tool.tripped") == 1
    assert guard.usage.tool_calls == 5


@pytest.mark.guarantee("A4", "D9")
def test_calls_past_the_limit_per_turn_and_on_the_last_turn_are_answered_but_not_run() -> None:
    guard = es.Guard(es.Budget(turns=2, tool_calls_per_turn=2))
    with guard.turn() as turn:
        for page in range(2):
            assert turn.refusal("read", {"page": page}) is None
            turn.called("read", {"page": page})
        assert turn.refusal("read", {"page": 3}) == (
            "Not run: at most 2 tool calls per turn. Ask again next turn."
        )
    with guard.turn() as turn:
        assert turn.is_last
        assert turn.refusal("read", {"page": 4}) == (
            "Not run: this is the last turn. Answer with what you have."
        )
    guard.may_continue()
    assert guard.audit().holds


@pytest.mark.guarantee("B6")
def test_an_agent_that_must_use_tools_is_reminded_once_and_ended_the_second_time() -> None:
    guard = es.Guard(es.Budget(turns=30), must_use_tools=True)
    hints: list[str | None] = []
    while guard.may_continue():
        with guard.turn() as turn:
            hints.append(turn.hint)
            turn.said(f"thinking, part {turn.number}")
    assert len(hints) == 2
    assert hints[1]
    assert isinstance(guard.outcome, es.Forced)
    assert guard.outcome.reason.rule is StopRule.NO_PROGRESS


@pytest.mark.guarantee("B3", "C5", "C8")
def test_the_same_reason_for_another_turn_three_times_ends_the_run() -> None:
    guard = es.Guard(es.Budget(turns=30))
    reasons = ["Need the schema", "need  the schema", "NEED THE SCHEMA"]
    shown: list[str] = []
    while guard.may_continue():
        with guard.turn() as turn:
            reason = reasons[turn.number]
            shown.append(turn.said(f'Looking.<signal type="need_turn"><reason>{reason}</reason></signal>'))
    assert shown == ["Looking."] * 3
    assert isinstance(guard.outcome, es.Forced)
    assert guard.outcome.reason.rule is StopRule.NO_PROGRESS
    assert [fact.type for fact in guard.facts].count("signal.parsed") == 3


@pytest.mark.guarantee("C4")
def test_malformed_and_surplus_signals_are_logged_in_the_record() -> None:
    guard = es.Guard(es.Budget(turns=30))
    good = '<signal type="stuck"></signal>'
    with guard.turn() as turn:
        assert turn.said(f'Text.<signal type="bogus"></signal>{good}{good}') == "Text."
    assert [fact.type for fact in guard.facts].count("signal.rejected") == 2
    assert [fact.type for fact in guard.facts].count("signal.parsed") == 1


@pytest.mark.guarantee("A5")
def test_a_forced_completion_keeps_all_text_and_says_so() -> None:
    guard = es.Guard(es.Budget(turns=2))
    while guard.may_continue():
        with guard.turn() as turn:
            turn.said(f"Part {turn.number}.")
    assert isinstance(guard.outcome, es.Forced)
    assert guard.outcome.answer == f"Part 0.\n\nPart 1.\n\n{TRUNCATED_NOTE}"


@pytest.mark.guarantee("A5")
def test_a_chat_that_said_nothing_but_a_signal_was_unable_to_complete() -> None:
    guard = es.Guard(es.Budget(turns=1))
    with guard.turn() as turn:
        turn.said('<signal type="stuck"></signal>')
    guard.may_continue()
    assert isinstance(guard.outcome, es.Forced)
    assert guard.outcome.answer == "[Unable to complete: budget limit reached]"


@pytest.mark.guarantee("A5", "A12")
def test_finishing_by_itself_is_completed_and_on_the_last_turn_with_a_warning() -> None:
    early = es.Guard(es.Budget(turns=3))
    with early.turn() as turn:
        turn.finished("done")
    assert not early.may_continue()
    assert early.outcome == es.Completed(answer="done")

    late = es.Guard(es.Budget(turns=1))
    with late.turn() as turn:
        turn.finished("just in time")
    assert not late.may_continue()
    assert late.outcome == es.Completed(
        answer="just in time",
        warnings=("Completed on the last turn the iteration limit allowed (1/1).",),
    )


@pytest.mark.guarantee("D10")
def test_cancelling_at_once_shows_inside_the_turn_and_keeps_the_text() -> None:
    guard = es.Guard(es.Budget(turns=30))
    with guard.turn() as turn:
        turn.said("So far.")
        assert turn.must_stop is None
        guard.cancel(by="ann")
        assert turn.must_stop is not None
    assert not guard.may_continue()
    assert guard.outcome == es.Cancelled(by="ann", answer="So far.")


@pytest.mark.guarantee("D10")
def test_cancelling_after_the_turn_lets_it_end() -> None:
    guard = es.Guard(es.Budget(turns=30))
    with guard.turn() as turn:
        guard.cancel(by="ann", after_turn=True)
        assert turn.must_stop is None
    assert not guard.may_continue()
    assert isinstance(guard.outcome, es.Cancelled)


def test_a_with_block_around_the_guard_ends_it() -> None:
    with es.Guard(es.Budget(turns=30)) as guard, guard.turn():
        pass
    assert isinstance(guard.outcome, es.Completed)
    broken = es.Guard(es.Budget(turns=30))
    with broken.turn() as turn:
        turn.said("half an answer")
    with pytest.raises(ValueError, match="boom"), broken:
        raise ValueError("boom")
    assert broken.outcome == es.Failed(code="exception", message="ValueError: boom", answer="half an answer")
    assert broken.audit().holds


def test_ending_from_within_a_turn_loses_nothing() -> None:
    guard = es.Guard(es.Budget(turns=30, tokens=1_000))
    with guard.turn(reserve_tokens=100), pytest.raises(ValueError, match="boom"), guard:
        raise ValueError("boom")
    assert isinstance(guard.outcome, es.Failed)
    assert guard.audit().holds


@pytest.mark.guarantee("A12")
def test_a_stop_condition_of_ones_own_comes_on_top() -> None:
    clock = FakeClock()
    stop = es.tokens(500) | (es.idle(60) & es.no_progress(2))
    guard = es.Guard(es.Budget(turns=30), stop=stop, clock=clock, responses={"identical_call": "go_on"})
    for _ in range(3):
        assert guard.may_continue()
        with guard.turn() as turn:
            turn.called("search", {"q": 1}, result="same")
    assert guard.may_continue()
    clock.advance(60)
    assert not guard.may_continue()
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.message == (
        "Stop condition met: nothing happened for 60.0 seconds and 2 turns in a row brought nothing new."
    )


@pytest.mark.guarantee("B1")
def test_a_message_of_the_user_starts_the_count_anew() -> None:
    guard = es.Guard(es.Budget(turns=30))
    repeat(guard, most=2)
    guard.user_said("please try again")
    repeat(guard, most=2)
    assert guard.may_continue()


@pytest.mark.guarantee("B11")
def test_thresholds_can_be_set_per_agent() -> None:
    guard = es.Guard(es.Budget(turns=30), thresholds=es.Thresholds(identical_calls=5))
    repeat(guard)
    assert guard.usage.turns == 5


def test_detectors_can_be_left_out() -> None:
    guard = es.Guard(es.Budget(turns=9), detectors=())
    repeat(guard)
    assert guard.usage.turns == 9
    assert guard.audit().holds


@pytest.mark.guarantee("C8", "H3")
def test_listeners_hear_every_fact_and_cannot_harm_the_run() -> None:
    guard = es.Guard(es.Budget(turns=3))

    def broken() -> None:
        raise RuntimeError("a listener's own fault")

    failing = guard.bus.subscribe(wake=broken)
    slow = guard.bus.subscribe(capacity=1)
    budget_only = guard.bus.subscribe("budget")
    repeat(guard)
    assert isinstance(failing.failure, RuntimeError)
    assert failing.take() == guard.facts[1:]
    assert slow.missed == len(guard.facts) - 2
    assert {fact.type.split(".")[0] for fact in budget_only.take()} == {"budget"}


def test_a_result_of_any_kind_can_be_reported() -> None:
    class Unshowable:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    guard = es.Guard(es.Budget(turns=3))
    with guard.turn() as turn:
        turn.called("search", {"q": 1}, result={"found": 3})
        turn.called("search", {"q": 2}, result=Unshowable())
        turn.called("search", object(), result=None)
    results = [getattr(fact.payload, "result", None) for fact in guard.facts if fact.type == "tool.finished"]
    assert results == ["{'found': 3}", "a Unshowable that cannot be shown", "None"]
    assert es.read_record([es.encode(fact) for fact in guard.facts]).require() == guard.facts
