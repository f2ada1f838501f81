"""Budget reviews: what somebody is asked to decide, and how long reviewers may be kind."""

from typing import Any

import pytest

from endstop.errors import InvalidValueError
from endstop.kernel.budget import Grant
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.review import (
    NO_REVIEWS,
    Approved,
    NeedsChanges,
    Rejected,
    Review,
    ReviewDecision,
    ReviewHistory,
    RunPhase,
    hard_limit_reason,
)

MORE = Grant(turns=5, by="ada", why="nearly done")
APPROVED = Approved(grant=MORE)
NEEDS_CHANGES = NeedsChanges(feedback="Write a test first.", grant=MORE)
REJECTED = Rejected(by="ada", why="Not worth it")


def history(*decisions: ReviewDecision) -> ReviewHistory:
    """The history after these decisions, in this order."""
    reviews = NO_REVIEWS
    for decision in decisions:
        reviews = reviews.after(decision)
    return reviews


@pytest.mark.guarantee("D3")
@pytest.mark.parametrize(
    ("key", "limit", "reason"),
    [
        ("coding", 8, "Maximum coding iterations (8) reached"),
        ("planning", 8, "Maximum planning iterations (8) reached"),
    ],
)
def test_a_review_of_a_hard_limit_says_which_maximum_was_reached(key: str, limit: int, reason: str) -> None:
    assert hard_limit_reason(key, limit) == reason


@pytest.mark.guarantee("D3")
def test_a_review_says_why_what_it_was_doing_what_it_spent_what_was_found_and_where_it_came_from() -> None:
    finding = Finding(pattern=Pattern.CYCLE, message="Round and round.", advice="Stop.", times=3)
    review = NO_REVIEWS.open(
        id="r1",
        why="Maximum coding iterations (8) reached",
        doing="Fixing the tests",
        spent="8 turns, $0.40",
        findings=(finding,),
        origin="CODING",
    )
    assert review == Review(
        id="r1",
        why="Maximum coding iterations (8) reached",
        doing="Fixing the tests",
        spent="8 turns, $0.40",
        findings=(finding,),
        origin="CODING",
        changes_asked_in_a_row=0,
        warnings=(),
    )


@pytest.mark.guarantee("D3")
def test_the_state_of_origin_is_running_unless_told_otherwise() -> None:
    assert NO_REVIEWS.open(id="r1", why="Enough").origin == RunPhase.RUNNING.value


@pytest.mark.guarantee("D3")
def test_the_phases_are_named_as_people_know_them() -> None:
    assert [phase.value for phase in RunPhase] == ["RUNNING", "BUDGET_REVIEW", "AWAIT_USER", "ENDED"]


@pytest.mark.guarantee("D4")
def test_an_approval_and_a_request_for_changes_carry_a_grant_and_a_rejection_a_reason() -> None:
    assert APPROVED.grant == NEEDS_CHANGES.grant == MORE
    assert NEEDS_CHANGES.feedback == "Write a test first."
    assert (REJECTED.by, REJECTED.why) == ("ada", "Not worth it")


@pytest.mark.guarantee("D4")
@pytest.mark.parametrize("feedback", ["", "  ", "\n\t"])
def test_a_request_for_changes_without_a_word_is_refused(feedback: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        NeedsChanges(feedback=feedback, grant=MORE)
    assert str(caught.value) == (
        f"feedback is {feedback!r}. Allowed: some words for the agent. "
        "Say what it should do otherwise, or approve or reject instead."
    )


@pytest.mark.guarantee("D4")
@pytest.mark.parametrize("feedback", [None, 7, ["Write a test first."]])
def test_feedback_that_is_no_text_is_refused_by_name(feedback: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^feedback is "):
        NeedsChanges(feedback=feedback, grant=MORE)


@pytest.mark.guarantee("D5")
@pytest.mark.parametrize(("in_a_row", "is_warned"), [(0, False), (2, False), (3, True), (5, True), (6, True)])
def test_from_three_requests_for_changes_in_a_row_the_next_review_carries_a_warning(
    in_a_row: int, is_warned: bool
) -> None:
    review = history(*[NEEDS_CHANGES] * in_a_row).open(id="r1", why="Enough")
    assert review.changes_asked_in_a_row == in_a_row
    assert bool(review.warnings) is is_warned


@pytest.mark.guarantee("D5")
def test_the_warning_says_how_often_changes_were_asked_for_and_what_will_happen() -> None:
    assert history(*[NEEDS_CHANGES] * 3).warnings == (
        "Changes were asked for 3 times in a row and did not end it. "
        "After 6 the run is rejected without asking.",
    )


@pytest.mark.guarantee("D5")
@pytest.mark.parametrize(
    ("in_a_row", "is_rejected"), [(0, False), (3, False), (5, False), (6, True), (7, True)]
)
def test_after_six_requests_for_changes_in_a_row_the_run_is_rejected_without_asking(
    in_a_row: int, is_rejected: bool
) -> None:
    decision = history(*[NEEDS_CHANGES] * in_a_row).automatic_decision
    expected = Rejected(by="endstop", why=f"Changes were asked for {in_a_row} times in a row without an end")
    assert decision == (expected if is_rejected else None)


@pytest.mark.guarantee("D5")
@pytest.mark.parametrize("other", [APPROVED, REJECTED], ids=["approved", "rejected"])
@pytest.mark.parametrize("before", [2, 5])
def test_any_other_decision_ends_the_row(other: ReviewDecision, before: int) -> None:
    reviews = history(*[NEEDS_CHANGES] * before, other, NEEDS_CHANGES)
    assert reviews.changes_asked_in_a_row == 1
    assert reviews.warnings == ()
    assert reviews.automatic_decision is None


@pytest.mark.guarantee("D5")
def test_every_decision_is_counted() -> None:
    assert history(NEEDS_CHANGES, APPROVED, REJECTED).decided == 3
    assert NO_REVIEWS.decided == 0
