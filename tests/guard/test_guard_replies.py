"""Replies: whole or streamed, with signals read out of them, and cut off when they go round in circles."""

from __future__ import annotations

import pytest

import endstop as es
from endstop.kernel.outcome import StopRule
from endstop.signals import SignalType

SIGNAL = '<signal type="partial_answer"><missing>the tests</missing><confidence>0.4</confidence></signal>'


@pytest.mark.guarantee("C3", "C8")
def test_a_streamed_reply_never_shows_a_piece_of_its_signal() -> None:
    guard = es.Guard(es.Budget(turns=3))
    reply = f"Use a < b, not <signs.{SIGNAL}"
    with guard.turn() as turn:
        shown = "".join(turn.streamed(letter) for letter in reply)
        assert turn.signal is None
        assert turn.said() == "Use a < b, not <signs."
        assert turn.signal is not None
        assert (turn.signal.type, turn.signal.confidence) == (SignalType.PARTIAL_ANSWER, 0.4)
    assert shown == "Use a < b, not <signs."


@pytest.mark.guarantee("B4")
def test_a_reply_that_repeats_one_chunk_is_to_be_cut_off_and_what_came_is_kept() -> None:
    guard = es.Guard(es.Budget(turns=30))
    pieces = 0
    with guard.turn() as turn:
        turn.streamed("Here is the plan. ")
        while turn.must_stop is None and pieces < 1_000:
            turn.streamed("I will now open the file. ")
            pieces += 1
    assert pieces < 20
    assert not guard.may_continue()
    assert isinstance(guard.outcome, es.Forced)
    assert guard.outcome.reason.rule is StopRule.NO_PROGRESS
    assert guard.outcome.answer.startswith("Here is the plan.")
    assert guard.audit().holds


@pytest.mark.guarantee("A5")
def test_what_was_streamed_before_an_exception_is_kept_as_cut_off() -> None:
    guard = es.Guard(es.Budget(turns=1))

    def drop() -> None:
        with guard.turn() as turn:
            turn.streamed("Half a sen")
            raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        drop()
    assert not guard.may_continue()
    assert isinstance(guard.outcome, es.Forced)
    assert guard.outcome.answer.startswith("Half a sen\n\n[Response truncated")


def test_finishing_without_an_answer_keeps_what_was_said_last() -> None:
    guard = es.Guard(es.Budget(turns=3))
    with guard.turn() as turn:
        turn.said("Let me look.")
    with guard.turn() as turn:
        turn.said("It is in auth.py.")
        turn.finished()
    assert not guard.may_continue()
    assert guard.outcome == es.Completed(answer="It is in auth.py.")


@pytest.mark.guarantee("B7")
def test_rounds_of_work_that_change_nothing_end_the_run() -> None:
    guard = es.Guard(es.Budget(turns=30))
    rounds = 0
    while guard.may_continue():
        guard.iteration_ended(issues=["No test for login"], failing_tests=1, lines_of_code=40 * rounds)
        rounds += 1
    assert rounds == 3
    assert isinstance(guard.outcome, es.Stopped)
    assert guard.outcome.reason.finding is not None
    assert guard.outcome.reason.finding.pattern.value == "not_converging"


@pytest.mark.guarantee("B7", "A9")
def test_rounds_are_counted_on_after_a_resume() -> None:
    guard = es.Guard(es.Budget(turns=30))
    guard.iteration_ended(issues=["slow"])
    guard.iteration_ended(issues=["slow"])
    again = es.Guard.resume(guard.facts)
    again.iteration_ended(issues=["slow"])
    numbers = [
        getattr(fact.payload, "iteration", None) for fact in again.facts if fact.type == "iteration.ended"
    ]
    assert numbers == [0, 1, 2]
    assert not again.may_continue()
