"""Why a run stopped, told to a person: plain words, evidence, what was used, what was kept, what to do."""

from __future__ import annotations

import pytest
from payload_examples import LOOP, OUT_OF_TIME, STUCK
from recorded_runs import BORN_AT, Recorded, Stage, a_turn, new_recorder, observed, overrun, recorded

from endstop.errors import RecordError
from endstop.events.explain import Explanation, evidence_line, explain
from endstop.kernel.budget import Budget
from endstop.kernel.finding import Evidence
from endstop.kernel.observation import RunPaused
from endstop.kernel.outcome import (
    Abandoned,
    Completed,
    Ending,
    Failed,
    Forced,
    Stopped,
    StopReason,
    StopRule,
    forced_answer,
)

MORE_BUDGET = "What to do: give it more budget if it was getting somewhere, or ask for less."
RECORD_KEPT = "Kept: the record of every turn."


def explained(ending: Ending) -> Explanation:
    """The explanation of a run of one turn that ended so."""
    recorder = observed(new_recorder(), *a_turn(0, 1.0))
    recorder.end_with(ending, at_s=1.0, time=BORN_AT)
    return explain(recorder.facts)


HEADLINES = {
    "finished": "Completed after 3 turns.",
    "finished_on_the_last_turn": "Completed after 2 turns, with a warning.",
    "identical_calls": "Forced to complete after 3 turns: no progress.",
    "error_streak": "Stopped after 3 turns: too many tool errors in a row.",
    "turn_limit": "Forced to complete after 10 turns: iteration limit.",
    "turn_limit_without_text": "Stopped after 3 turns: iteration limit.",
    "token_limit": "Forced to complete after 8 turns: token limit.",
    "cost_limit": "Forced to complete after 5 turns: cost limit.",
    "model_call_limit": "Forced to complete after 3 turns: model call limit.",
    "context_limit": "Forced to complete after 3 turns: context limit.",
    "time_limit": "Forced to complete after 5 turns: time limit.",
    "cancelled": "Cancelled by ana after 1 turn.",
    "review_rejected": "Abandoned after 3 turns.",
    "policy_error": "Failed after 2 turns (policy_error).",
    "policy_stop": "Forced to complete after 2 turns: its policy ended it.",
    "stop_condition": "Forced to complete after 4 turns: its stop condition was met.",
    "unknown_price_refused": "Failed after 1 turn (price_unknown).",
    "exception": "Failed after 1 turn (exception).",
}


@pytest.mark.guarantee("J1", "G7")
@pytest.mark.parametrize("scenario", HEADLINES)
def test_the_headline_says_how_it_ended_after_how_many_turns_and_of_what(scenario: str) -> None:
    assert explain(recorded(scenario)).headline == HEADLINES[scenario]


WHYS = {
    "finished": "The agent finished by itself, inside its budget.",
    "finished_on_the_last_turn": "Completed on the last turn the iteration limit allowed (2/2).",
    "turn_limit": "Iteration limit reached (10/10).",
    "token_limit": "Token limit closed in (480/500): what is left pays for no further turn.",
    "time_limit": "Time limit reached (10 s/10 s).",
    "cancelled": "Somebody asked for it to end.",
    "policy_stop": "The run's policy ended it: two are enough",
    "exception": "ConnectionError: model unreachable",
}


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize("scenario", WHYS)
def test_why_it_ended_is_said_in_a_sentence(scenario: str) -> None:
    assert explain(recorded(scenario)).why.rstrip(".") == WHYS[scenario].rstrip(".")


@pytest.mark.guarantee("J1", "D4")
def test_why_a_review_ended_it_names_the_limit_the_reviewer_and_the_reason() -> None:
    why = explain(recorded("review_rejected")).why
    assert why.startswith("Iteration limit reached (3/3).")
    assert "ben" in why
    assert "it goes nowhere" in why


@pytest.mark.guarantee("J1")
def test_the_run_above_is_named_where_that_ended_it() -> None:
    above = StopReason(rule=StopRule.PARENT, message="The run above it has ended.")
    assert explained(Stopped(reason=above)).headline == "Stopped after 1 turn: the run above it ended."


@pytest.mark.guarantee("J1")
def test_a_rule_without_words_of_its_own_is_named_as_it_is() -> None:
    reason = StopReason(rule=StopRule.TOKENS, message="No tokens.")
    assert explained(Stopped(reason=reason)).headline == "Stopped after 1 turn: tokens."


@pytest.mark.guarantee("J1", "B8")
def test_the_evidence_names_turns_as_people_count_them_and_calls() -> None:
    evidence = explain(recorded("identical_calls")).evidence
    assert len(evidence) == 3
    for number, line in enumerate(evidence, start=1):
        assert line.startswith(f"turn {number}, call {number}.1: ")
        assert "login" in line


@pytest.mark.guarantee("J1", "B8")
@pytest.mark.parametrize(
    ("evidence", "line"),
    [
        (Evidence(turn=0, call="1.1", what="search()"), "turn 1, call 1.1: search()"),
        (Evidence(turn=6, what="no tool was called"), "turn 7: no tool was called"),
    ],
)
def test_a_piece_of_evidence_is_one_line(evidence: Evidence, line: str) -> None:
    assert evidence_line(evidence) == line


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize("scenario", ["finished", "turn_limit", "cancelled", "exception", "policy_stop"])
def test_without_a_finding_there_is_no_evidence(scenario: str) -> None:
    assert explain(recorded(scenario)).evidence == ()


@pytest.mark.guarantee("J1")
def test_what_was_used_is_held_against_each_limit() -> None:
    assert explain(recorded("finished")).spent == (
        "turns: 3/10 (30 %)",
        "tokens: 180/5,000 (3.6 %)",
        "seconds: 6 s/120 s (5 %)",
        "cost: $0.006/$0.50 (1.2 %)",
    )


@pytest.mark.guarantee("J1", "A8")
def test_what_was_granted_counts_as_allowed() -> None:
    assert "turns: 5/5 (100 %)" in explain(recorded("grants")).spent


@pytest.mark.guarantee("J1", "A1")
def test_without_any_limit_on_what_is_spent_it_says_what_was_used() -> None:
    recorder = observed(new_recorder(Budget(context_tokens=1_000)), *a_turn(0, 1.0))
    assert explain(recorder.facts).spent == ("1 turn, 60 tokens, 0 tool calls, 1.0 s, cost unknown",)


@pytest.mark.guarantee("A10", "J1")
@pytest.mark.parametrize("scenario", ["unknown_price_warned", "unknown_price_refused"])
def test_an_unknown_cost_is_never_shown_as_zero(scenario: str) -> None:
    text = str(explain(recorded(scenario)))
    assert "$0.00/" not in text
    assert "unknown" in text


@pytest.mark.guarantee("A10", "J1")
def test_a_cost_that_is_known_in_part_is_shown_as_at_least_that_much(stage: Stage) -> None:
    guard = stage.guard(Budget(turns=5, cost_usd="0.50", unknown_price="warn"))
    for cost in ("0.20", None):
        with guard.turn() as turn:
            turn.spent(input_tokens=10, cost_usd=cost)
    (line,) = [line for line in guard.explain().spent if "cost" in line]
    assert "at least" in line


@pytest.mark.guarantee("A14", "J1")
def test_a_run_that_finished_but_used_more_than_it_had_is_not_said_to_be_inside_its_budget(
    stage: Stage,
) -> None:
    guard = stage.guard(Budget(turns=5, tokens=1_000))
    with guard.turn(reserve_tokens=100) as turn:
        turn.spent(input_tokens=1_500, cost_usd=0)
        turn.finished("done")
    guard.may_continue()
    assert isinstance(guard.outcome, Completed)
    assert "inside its budget" not in guard.explain().why


@pytest.mark.guarantee("A5", "J1")
def test_the_text_that_was_kept_is_counted_without_the_note_that_was_added() -> None:
    told = explained(Forced(answer=forced_answer("So far."), reason=OUT_OF_TIME))
    assert told.kept == "Kept: all text so far (7 characters), and the record of every turn."


@pytest.mark.guarantee("A5", "J1")
def test_where_no_text_was_there_none_is_said_to_be_kept() -> None:
    assert explained(Forced(answer=forced_answer(""), reason=OUT_OF_TIME)).kept == RECORD_KEPT


@pytest.mark.guarantee("D10", "J1")
def test_what_a_cancelled_run_had_written_is_kept() -> None:
    kept = explain(recorded("cancelled")).kept
    assert kept == "Kept: all text so far (7 characters), and the record of every turn."


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize("scenario", ["policy_error", "unknown_price_refused", "exception"])
def test_what_a_failed_run_had_written_is_kept(scenario: str) -> None:
    assert explain(recorded(scenario)).kept.startswith("Kept: all text so far (")


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize(
    "scenario", ["turn_limit_without_text", "cancelled_after_the_turn", "review_rejected"]
)
def test_where_nothing_was_written_the_record_is_kept(scenario: str) -> None:
    assert explain(recorded(scenario)).kept == RECORD_KEPT


@pytest.mark.guarantee("J1")
def test_of_a_completed_run_nothing_need_be_said_to_be_kept() -> None:
    told = explain(recorded("finished"))
    assert (told.kept, told.to_do) == ("", "")


@pytest.mark.guarantee("G7", "J1")
def test_an_abandoned_run_says_where_its_work_is_and_what_to_do_next() -> None:
    told = explained(
        Abandoned(
            reason="Intent too ambiguous",
            suggestion="Rephrase your request more specifically",
            next_steps=("name the file", "say which test fails"),
            checkpoint="commit 56c6",
        )
    )
    assert told.headline == "Abandoned after 1 turn."
    assert told.why == "Intent too ambiguous"
    assert told.kept == "Kept: commit 56c6, and the record of every turn."
    assert told.to_do.splitlines() == [
        "Rephrase your request more specifically",
        "Next: name the file",
        "Next: say which test fails",
    ]


@pytest.mark.guarantee("G7", "J1")
def test_an_abandoned_run_without_a_suggestion_has_none() -> None:
    assert explained(Abandoned(reason="Given up.")).to_do == ""


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize("scenario", ["turn_limit", "turn_limit_without_text", "time_limit", "cost_limit"])
def test_after_a_limit_the_thing_to_do_is_more_budget_or_less_work(scenario: str) -> None:
    assert explain(recorded(scenario)).to_do == MORE_BUDGET


@pytest.mark.guarantee("B8", "J1")
@pytest.mark.parametrize("ending", [Forced(answer="So far.", reason=STUCK), Stopped(reason=STUCK)])
def test_after_a_finding_the_thing_to_do_is_its_advice(ending: Ending) -> None:
    told = explained(ending)
    assert told.to_do == f"What to do: {LOOP.advice}"
    assert told.evidence == tuple(evidence_line(one) for one in LOOP.evidence)


@pytest.mark.guarantee("J1")
def test_after_a_failure_the_thing_to_do_is_to_mend_it() -> None:
    told = explained(Failed(code="model", message="The model cannot be reached."))
    assert told.to_do == "What to do: mend the cause named above, then run it again."
    assert told.kept == RECORD_KEPT


@pytest.mark.guarantee("J1")
@pytest.mark.parametrize("scenario", ["cancelled", "policy_stop", "stop_condition"])
def test_what_somebody_wanted_needs_no_advice(scenario: str) -> None:
    assert explain(recorded(scenario)).to_do == ""


@pytest.mark.guarantee("J1")
def test_a_run_that_has_not_ended_says_so_and_how_it_stands() -> None:
    facts = recorded("finished")
    told = explain(facts[:9])
    assert told.headline == "The run has not ended: 1 turn, 60 tokens, 1 tool call, 2.0 s, cost $0.002."
    assert told.why == "Nothing has stopped it so far."
    assert told.spent[0] == "turns: 1/10 (10 %)"
    assert (told.evidence, told.kept, told.to_do) == ((), "", "")


@pytest.mark.guarantee("J1", "B8")
def test_a_run_that_has_not_ended_shows_what_was_found_last() -> None:
    told = explain(recorded("identical_calls")[:-1])
    assert told.headline.startswith("The run has not ended")
    assert len(told.evidence) == 3


@pytest.mark.guarantee("J1", "D3")
def test_a_run_that_waits_for_a_person_says_what_for() -> None:
    recorder = observed(new_recorder(), RunPaused(at_s=1.0, why="Which login is meant?"))
    assert "Which login is meant?" in str(explain(recorder.facts))


@pytest.mark.guarantee("J1")
def test_a_record_that_is_empty_cannot_be_explained() -> None:
    with pytest.raises(RecordError):
        explain(())


@pytest.mark.guarantee("J1")
def test_as_text_it_is_the_whole_of_it_line_by_line() -> None:
    told = Explanation(
        headline="Stopped.",
        why="Because.",
        evidence=("turn 1: this", "turn 2: that"),
        spent=("turns: 2/2 (100 %)",),
        kept="Kept: all.",
        to_do="What to do: less.",
    )
    assert str(told).splitlines() == [
        "Stopped.",
        "Because.",
        "Evidence:",
        "  turn 1: this",
        "  turn 2: that",
        "Used:",
        "  turns: 2/2 (100 %)",
        "Kept: all.",
        "What to do: less.",
    ]


@pytest.mark.guarantee("J1")
def test_as_text_there_are_no_empty_lines_and_no_empty_headings() -> None:
    assert str(Explanation(headline="Completed.", why="")).splitlines() == ["Completed."]


@pytest.mark.guarantee("J1", "G7")
def test_every_run_can_be_explained_at_every_moment(run: Recorded) -> None:
    for length in range(1, len(run.facts) + 1):
        lines = str(explain(run.facts[:length])).splitlines()
        assert len(lines) >= 3
        assert all(line.strip() for line in lines)


@pytest.mark.guarantee("J1", "A6")
def test_a_run_that_used_more_than_it_had_shows_it(stage: Stage) -> None:
    assert "tokens: 1,500/1,000 (150 %)" in overrun(stage).explain().spent
