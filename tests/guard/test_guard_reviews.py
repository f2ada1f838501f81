"""Reviews: somebody may grant more when a limit would end a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import endstop as es
from endstop.kernel.review import Review, ReviewDecision
from endstop.testing import FakeClock


def more(turns: int = 1) -> es.Grant:
    return es.Grant(turns=turns, by="ann", why="nearly there")


def run(
    reviewer: Callable[[Review], ReviewDecision], *, turns: int = 2, most: int = 60, grant_cap: float = 100
) -> tuple[es.Guard, list[str | None]]:
    guard = es.Guard(es.Budget(turns=turns, grant_cap=grant_cap), reviewer=reviewer)
    hints: list[str | None] = []
    while guard.may_continue() and len(hints) < most:
        with guard.turn() as turn:
            hints.append(turn.hint)
            turn.called("read", {"page": len(hints)}, result=str(len(hints)))
    return guard, hints


@pytest.mark.guarantee("D4", "A8")
def test_an_approval_goes_on_with_more_budget_and_no_counter_reset() -> None:
    asked: list[Review] = []

    def reviewer(review: Review) -> ReviewDecision:
        asked.append(review)
        return es.Approved(grant=more(3)) if len(asked) == 1 else es.Rejected(by="ann", why="enough")

    guard, _ = run(reviewer)
    assert guard.usage.turns == 5
    assert asked[0].why == "Iteration limit reached (2/2)."
    assert "2 turns" in asked[0].spent
    assert isinstance(guard.outcome, es.Abandoned)
    assert "enough" in guard.outcome.reason
    assert guard.audit().holds


@pytest.mark.guarantee("D4")
def test_changes_asked_for_reach_the_agent_as_a_hint() -> None:
    decisions = iter(
        [
            es.NeedsChanges(feedback="Use the index.", grant=more(2)),
            es.Rejected(by="ann", why="no"),
        ]
    )
    _, hints = run(lambda review: next(decisions))
    assert hints[2] is not None
    assert hints[2].startswith("Use the index.")


@pytest.mark.guarantee("D5")
def test_too_kind_a_reviewer_is_warned_at_three_and_overruled_after_six() -> None:
    asked: list[Review] = []

    def kind(review: Review) -> ReviewDecision:
        asked.append(review)
        return es.NeedsChanges(feedback="Once more.", grant=more())

    guard, _ = run(kind)
    assert len(asked) == 6
    assert [bool(review.warnings) for review in asked] == [False, False, False, True, True, True]
    assert isinstance(guard.outcome, es.Abandoned)
    assert "6 times in a row" in guard.outcome.reason


@pytest.mark.guarantee("D5", "A9")
def test_a_restart_of_the_process_does_not_make_a_reviewer_less_kind() -> None:
    asked: list[Review] = []

    def kind(review: Review) -> ReviewDecision:
        asked.append(review)
        return es.NeedsChanges(feedback="Once more.", grant=more())

    guard = es.Guard(es.Budget(turns=1, grant_cap=100), reviewer=kind)
    for _ in range(20):
        if not guard.may_continue():
            break
        with guard.turn() as turn:
            turn.called("read", {"page": len(asked)})
        guard = es.Guard.resume(guard.facts, reviewer=kind)
    assert len(asked) == 6
    assert len({review.id for review in asked}) == 6
    assert isinstance(guard.outcome, es.Abandoned)


def test_feedback_waits_for_a_turn_that_is_really_taken() -> None:
    decisions = iter([es.NeedsChanges(feedback="Use the index.", grant=more(3))])
    guard = es.Guard(es.Budget(turns=1, grant_cap=9), reviewer=lambda review: next(decisions))
    with guard.turn():
        pass
    assert guard.may_continue()
    guard.turn()
    with guard.turn() as turn:
        assert turn.hint is not None
        assert turn.hint.startswith("Use the index.")


@pytest.mark.guarantee("D5", "A8")
def test_approvals_are_capped_by_the_cap_on_grants() -> None:
    guard, _ = run(lambda review: es.Approved(grant=more(2)), turns=2, grant_cap=2)
    assert guard.usage.turns == 6
    assert isinstance(guard.outcome, es.Abandoned)
    assert "cap on grants" in guard.outcome.reason


@pytest.mark.parametrize("answer", [None, True, "approved"])
def test_a_reviewer_that_answers_nonsense_rejects(answer: object) -> None:
    guard, _ = run(lambda review: answer)  # type: ignore[arg-type, return-value]
    assert isinstance(guard.outcome, es.Abandoned)
    assert "not Approved, NeedsChanges or Rejected" in guard.outcome.reason


def test_a_reviewer_that_fails_rejects() -> None:
    def broken(review: Review) -> ReviewDecision:
        raise RuntimeError("no connection")

    guard, _ = run(broken)
    assert isinstance(guard.outcome, es.Abandoned)
    assert "no connection" in guard.outcome.reason


@pytest.mark.guarantee("A9")
def test_the_time_a_reviewer_takes_is_not_charged() -> None:
    clock = FakeClock()

    def slow(review: Review) -> ReviewDecision:
        clock.advance(3_600)
        return es.Approved(grant=more())

    guard = es.Guard(es.Budget(turns=1, seconds=60), reviewer=slow, clock=clock)
    with guard.turn():
        pass
    assert guard.may_continue()
    assert guard.usage.seconds < 60


@pytest.mark.guarantee("D4")
def test_a_loop_that_was_found_can_be_approved_to_go_on() -> None:
    decisions = iter([es.Approved(grant=more(5)), es.Rejected(by="ann", why="again")])
    guard = es.Guard(es.Budget(turns=20), reviewer=lambda review: next(decisions))
    while guard.may_continue():
        with guard.turn() as turn:
            turn.called("search", {"q": 1})
    assert guard.usage.turns == 6
    assert isinstance(guard.outcome, es.Abandoned)


def test_nobody_is_asked_about_a_cancellation_or_a_natural_stop() -> None:
    def never(review: Review) -> ReviewDecision:
        raise AssertionError("asked")

    finished = es.Guard(es.Budget(turns=3), reviewer=never)
    finished.finish("done")
    assert finished.outcome == es.Completed(answer="done")
    cancelled = es.Guard(es.Budget(turns=3), reviewer=never)
    cancelled.cancel()
    assert not cancelled.may_continue()
    assert isinstance(cancelled.outcome, es.Cancelled)
