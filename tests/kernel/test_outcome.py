"""Outcomes: the exact words of a forced completion, the exit codes, and which stop leads to which ending."""

from decimal import Decimal

import pytest

from endstop.kernel.limits import LimitKind
from endstop.kernel.outcome import (
    TRUNCATED_NOTE,
    UNABLE_ANSWER,
    Abandoned,
    AwaitingUser,
    Cancelled,
    Completed,
    Ending,
    Failed,
    Forced,
    Outcome,
    Stopped,
    StopReason,
    StopRule,
    UnderReview,
    conclude,
    exit_code,
    forced_answer,
)
from endstop.kernel.review import Review

TURNS_REACHED = StopReason(
    rule=StopRule.TURNS,
    message="Iteration limit reached (30/30).",
    limit=LimitKind.TURNS,
    current=30,
    maximum=30,
)

OUTCOMES: list[tuple[Outcome, int, str]] = [
    (Completed(answer="42"), 0, "completed"),
    (Completed(answer="42", warnings=("Late.",)), 3, "completed, with a warning: Late."),
    (Completed(answer="42", warnings=("Late.", "Dear.")), 3, "completed, with a warning: Late. Dear."),
    (
        Forced(answer="4", reason=TURNS_REACHED),
        3,
        "forced to complete: Iteration limit reached (30/30).",
    ),
    (Abandoned(reason="Too ambiguous"), 4, "abandoned: Too ambiguous"),
    (Cancelled(by="ada"), 4, "cancelled by ada"),
    (Stopped(reason=TURNS_REACHED), 5, "stopped: Iteration limit reached (30/30)."),
    (
        UnderReview(review=Review(id="r1", why="Maximum coding iterations (8) reached")),
        6,
        "paused for review: Maximum coding iterations (8) reached",
    ),
    (AwaitingUser(question="Which one?"), 6, "waiting for the user: Which one?"),
    (Failed(code="policy_error", message="It raised."), 1, "failed (policy_error): It raised."),
]

NOT_A_LIMIT = (StopRule.FINISHED, StopRule.CANCELLED, StopRule.POLICY_ERROR, StopRule.PRICE_UNKNOWN)


@pytest.mark.guarantee("A5")
def test_the_two_notes_of_a_forced_completion_are_word_for_word_those_of_the_requirements() -> None:
    assert TRUNCATED_NOTE == "[Response truncated due to budget limit]"
    assert UNABLE_ANSWER == "[Unable to complete: budget limit reached]"


@pytest.mark.guarantee("A5")
@pytest.mark.parametrize(
    ("gathered", "answer"),
    [
        ("So far", "So far\n\n[Response truncated due to budget limit]"),
        ("So far\n", "So far\n\n[Response truncated due to budget limit]"),
        ("  One\n\nTwo  ", "  One\n\nTwo\n\n[Response truncated due to budget limit]"),
        ("", "[Unable to complete: budget limit reached]"),
        (" \n\t", "[Unable to complete: budget limit reached]"),
    ],
)
def test_a_forced_answer_keeps_the_text_and_says_that_it_was_cut(gathered: str, answer: str) -> None:
    assert forced_answer(gathered) == answer


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize(("outcome", "code", "_text"), OUTCOMES)
def test_each_outcome_has_its_exit_code(outcome: Outcome, code: int, _text: str) -> None:
    assert exit_code(outcome) == code


@pytest.mark.guarantee("A5")
@pytest.mark.parametrize(("outcome", "_code", "text"), OUTCOMES)
def test_each_outcome_says_what_it_is(outcome: Outcome, _code: int, text: str) -> None:
    assert str(outcome) == text


@pytest.mark.guarantee("A5", "J1")
def test_a_completion_with_a_warning_is_never_a_plain_success() -> None:
    plain, warned = Completed(answer="42"), Completed(answer="42", warnings=("Late.",))
    assert exit_code(warned) != exit_code(plain)
    assert str(warned) != str(plain)


@pytest.mark.guarantee("A5")
def test_an_agent_that_finished_is_completed_with_its_own_answer() -> None:
    reason = StopReason(rule=StopRule.FINISHED, message="The agent finished.")
    assert conclude(reason, gathered="So far", answer="42") == Completed(answer="42")


@pytest.mark.guarantee("A5")
def test_an_agent_that_finished_on_its_last_turn_is_completed_with_a_warning_that_names_the_limit() -> None:
    message = "Completed on the last turn the cost limit allowed ($0.49/$0.50)."
    reason = StopReason(
        rule=StopRule.FINISHED,
        message=message,
        limit=LimitKind.COST_USD,
        current=Decimal("0.49"),
        maximum=Decimal("0.50"),
    )
    assert conclude(reason, gathered=None, answer="42") == Completed(answer="42", warnings=(message,))


@pytest.mark.parametrize(("gathered", "kept"), [("So far", "So far"), ("", ""), (None, "")])
def test_a_cancelled_run_keeps_what_was_gathered_without_a_note(gathered: str | None, kept: str) -> None:
    reason = StopReason(rule=StopRule.CANCELLED, message="Cancelled.")
    assert conclude(reason, gathered=gathered, by="ada") == Cancelled(by="ada", answer=kept)


@pytest.mark.guarantee("F3")
@pytest.mark.parametrize("rule", [StopRule.POLICY_ERROR, StopRule.PRICE_UNKNOWN])
@pytest.mark.parametrize(("gathered", "kept"), [("So far", "So far"), (None, "")])
def test_what_broke_is_a_failure_with_its_work_saved(rule: StopRule, gathered: str | None, kept: str) -> None:
    ending = conclude(StopReason(rule=rule, message="It broke."), gathered=gathered)
    assert ending == Failed(code=rule.value, message="It broke.", answer=kept)


@pytest.mark.guarantee("A5")
@pytest.mark.parametrize("rule", [rule for rule in StopRule if rule not in NOT_A_LIMIT])
@pytest.mark.parametrize(
    ("gathered", "answer"),
    [("So far", f"So far\n\n{TRUNCATED_NOTE}"), ("", UNABLE_ANSWER)],
)
def test_any_other_rule_forces_completion_where_an_answer_is_due(
    rule: StopRule, gathered: str, answer: str
) -> None:
    reason = StopReason(rule=rule, message="Enough.")
    assert conclude(reason, gathered=gathered, answer="unfinished") == Forced(answer=answer, reason=reason)


@pytest.mark.guarantee("A5")
@pytest.mark.parametrize("rule", [rule for rule in StopRule if rule not in NOT_A_LIMIT])
def test_any_other_rule_stops_a_run_that_owes_no_answer(rule: StopRule) -> None:
    reason = StopReason(rule=rule, message="Enough.")
    ending: Ending = conclude(reason, gathered=None)
    assert ending == Stopped(reason=reason)


@pytest.mark.guarantee("A12")
def test_the_rules_are_listed_in_the_order_in_which_they_win() -> None:
    assert [rule.value for rule in StopRule] == [
        *("cancelled", "finished", "turns", "model_calls", "tokens", "cost", "context", "price_unknown"),
        *("time", "no_progress", "error_limit", "condition", "policy", "policy_error", "parent"),
    ]
