"""A coding session in words: its timeline, and why it ended, with all that was tried."""

from __future__ import annotations

from dataclasses import replace

import pytest
from coding_examples import CODING
from payload_examples import EXAMPLES, LOOP, OUT_OF_TIME, STUCK
from recorded_runs import a_fact

from endstop.events import coding
from endstop.events.coding_words import told_of_coding
from endstop.events.explain import Explanation, explain
from endstop.events.facts import Payload, RunStarted
from endstop.events.timeline import timeline
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.finding import Pattern
from endstop.kernel.observation import RunEnded, ScopeOpened
from endstop.kernel.outcome import Abandoned, Completed, Ending, Stopped

TOLD = {
    "coding.opened": (
        "Session opened on endstop/run_example",
        "shop; tests: pytest -q; bubblewrap: only the worktree can be written, no network",
    ),
    "coding.opened without tests": (
        "Session opened on endstop/run_example",
        "shop; no tests found; path checks and resource limits only",
    ),
    "coding.interviewed": ("Interview over", "Login is by password alone."),
    "coding.specified": ("Specification, cycle 1, attempt 2: complete", "Login"),
    "coding.specified, incomplete": (
        "Specification, cycle 1, attempt 1: lacks success criteria, a risk level",
        "Login",
    ),
    "coding.priced": ("Price: at most $1.20, to be decided", "Two rounds of a small change."),
    "coding.priced, unknown": ("Price: unknown, approved by the policy", "The model has no price."),
    "coding.priced, too much": (
        "Price: at most $6.20, over what the policy allows",
        "Three rounds of a large change.",
    ),
    "coding.price_decided approved": ("Price: approved by policy", ""),
    "coding.price_decided otherwise": (
        "Price: ana chose phases instead",
        "First the password, then the token.",
    ),
    "coding.price_decided rejected": ("Price: rejected by ana", ""),
    "coding.planned": ("Plan: 2 tasks", "Check the password; Write its test"),
    "coding.tested": ("Round 2: tests passed after simplifying 1", "12 passed, 0 failed"),
    "coding.tested, failing": (
        "Round 1: tests failed after building",
        "11 passed, 1 failed: test_a_wrong_password_is_refused",
    ),
    "coding.tested, hanging": ("Round 1: tests timed out after building", "exit code -9"),
    "coding.judged": ("Round 1: 1 of 2 criteria met", "not met: A wrong password is refused"),
    "coding.judged, all met": ("Round 2: 1 of 1 criteria met", ""),
    "coding.criticised": ("Round 2: 1 issue found, 0 critical", "A name is unclear"),
    "coding.criticised, critically": (
        "Round 1: 2 issues found, 1 critical",
        "The password is logged; No limit on attempts; 3 more left out",
    ),
    "coding.simplified": ("Round 2: simplifying 1, 120 to 96 lines", "It saves 20 %."),
    "coding.simplified, taken back": (
        "Round 2: simplifying 2, taken back",
        "The tests failed after it.",
    ),
    "coding.round_ended": (
        "Round 1 ended: 2 open issues",
        "+1,120 -4 lines in 3 files, $0.125, commit 0a1b2c3",
    ),
    "coding.round_ended, cost unknown": (
        "Round 2 ended: 1 open issue",
        "+96 -4 lines in 1 file, cost unknown, commit 1b2c3d4",
    ),
    "coding.concluded": ("Session concluded: succeeded", ""),
    "coding.concluded at a limit": (
        "Session concluded: session timeout",
        "Give the session more minutes.",
    ),
}


@pytest.mark.guarantee("H1", "I5")
@pytest.mark.parametrize("example", CODING)
def test_a_fact_of_a_coding_session_is_told_in_plain_words(example: str) -> None:
    (line,) = timeline([a_fact(CODING[example])])
    assert (line.title, line.detail) == TOLD[example]


@pytest.mark.parametrize("example", [name for name in EXAMPLES if name not in CODING])
def test_other_facts_are_left_to_others(example: str) -> None:
    assert told_of_coding(EXAMPLES[example]) is None


def test_an_alternative_that_nobody_named_is_told_all_the_same() -> None:
    decision = coding.PriceDecided(cycle=1, choice=coding.PriceChoice.ALTERNATIVE, by="ana")
    assert told_of_coding(decision) == ("Price: ana chose an alternative", "")


def explained(*examples: str | Payload, ending: Ending) -> Explanation:
    """The explanation of a session that left these facts and ended so."""
    started = RunStarted(config=AgentConfig(), agent="coding", question="Add a login.")
    payloads = [CODING[one] if isinstance(one, str) else one for one in examples]
    whole = [started, *payloads, RunEnded(at_s=9.0, outcome=ending)]
    return explain(a_fact(payload, seq=seq) for seq, payload in enumerate(whole))


GIVEN_UP = Abandoned(
    reason="Intent too ambiguous or context insufficient",
    suggestion="Rephrase your request more specifically",
    next_steps=("Name the file.",),
    tried=("in the words of the session",),
)
OUT_OF_MINUTES = Stopped(reason=OUT_OF_TIME)
TABLE = (
    "round      lines  failing tests  open issues  same as before     cost   commit",
    "    1  +1,120 -4              1            2               -   $0.125  0a1b2c3",
    "    2     +96 -4              0            1             50%  unknown  1b2c3d4",
)
ROUNDS = ("coding.round_ended", "coding.round_ended, cost unknown")


@pytest.mark.guarantee("G1", "G7", "J1")
def test_a_session_without_a_specification_is_explained_with_what_each_attempt_lacked() -> None:
    told = explained("coding.opened", "coding.specified, incomplete", ending=GIVEN_UP)
    assert told.why == "Intent too ambiguous or context insufficient"
    assert told.evidence == ("specification, cycle 1, attempt 1: lacks success criteria, a risk level",)
    assert told.to_do == "Rephrase your request more specifically\nNext: Name the file."
    assert told.kept == "Kept: the record of every turn."


@pytest.mark.guarantee("G2", "G3", "G7", "J1")
def test_a_session_without_a_price_is_explained_with_each_price_and_its_decision() -> None:
    told = explained(
        "coding.opened",
        "coding.specified",
        "coding.priced",
        "coding.price_decided approved",
        "coding.priced, too much",
        "coding.price_decided otherwise",
        ending=GIVEN_UP,
    )
    assert told.evidence == (
        "specification, cycle 1, attempt 2: complete",
        "price, cycle 1: at most $1.20, to be decided; approved by policy",
        "price, cycle 2: at most $6.20, over what the policy allows; ana chose phases instead",
    )


def test_a_price_that_nobody_decided_about_is_told_as_such() -> None:
    (told,) = explained("coding.priced", ending=GIVEN_UP).evidence
    assert told == "price, cycle 1: at most $1.20, to be decided; not decided"


@pytest.mark.guarantee("G6", "G7", "J1")
def test_a_session_that_ran_into_a_limit_is_explained_with_its_rounds_and_what_to_do() -> None:
    told = explained("coding.opened", *ROUNDS, "coding.concluded at a limit", ending=OUT_OF_MINUTES)
    assert told.why == "Time limit reached (61 s/60 s)."
    assert told.evidence == TABLE
    assert told.kept == "Kept: commit 1b2c3d4 on endstop/run_example, and the record of every turn."
    assert told.to_do == "Give the session more minutes.\nNext: endstop session accept run_example"


@pytest.mark.guarantee("G7")
def test_a_round_that_was_cut_short_is_told() -> None:
    opens = ScopeOpened(at_s=1.0, scope="builder 3", budget=Budget(turns=8))
    told = explained("coding.opened", *ROUNDS, opens, ending=OUT_OF_MINUTES)
    assert told.evidence == (*TABLE, "round 3 did not come to its end")


@pytest.mark.guarantee("G7")
def test_a_session_that_left_no_conclusion_keeps_the_commit_of_its_last_round() -> None:
    told = explained("coding.opened", *ROUNDS, ending=OUT_OF_MINUTES)
    assert told.kept == "Kept: commit 1b2c3d4 on endstop/run_example, and the record of every turn."
    assert told.to_do.startswith("What to do: give it more budget")


@pytest.mark.guarantee("B7", "B8")
def test_rounds_that_changed_nothing_are_shown_once_as_the_table() -> None:
    finding = replace(LOOP, pattern=Pattern.NOT_CONVERGING)
    stuck = Stopped(reason=replace(STUCK, finding=finding))
    assert explained("coding.opened", *ROUNDS, ending=stuck).evidence == TABLE


@pytest.mark.guarantee("B8")
def test_what_else_was_found_stands_before_what_was_tried() -> None:
    told = explained("coding.opened", *ROUNDS, ending=Stopped(reason=STUCK))
    assert told.evidence[0].startswith("turn 1, call 1.1: search")
    assert told.evidence[-3:] == TABLE


@pytest.mark.guarantee("G9")
def test_a_session_that_is_done_is_explained_with_what_done_rests_on() -> None:
    concluded = coding.SessionConcluded(
        kind="succeeded_with_warnings",
        suggestion="Look at round 1.",
        criteria=(
            coding.Criterion(text="All tests pass", is_met=True, evidence="12 passed", is_verified=True),
            coding.Criterion(text="Login works", is_met=True, evidence="the tester tried it"),
            coding.Criterion(text="No critical issues", is_met=False),
        ),
    )
    told = explained("coding.specified", *ROUNDS, concluded, ending=Completed(answer="", warnings=("Open.",)))
    assert told.evidence == (
        "met, verified: All tests pass (12 passed)",
        "met: Login works (the tester tried it)",
        "not met: No critical issues",
        *TABLE,
    )
    assert told.to_do == "Look at round 1."


@pytest.mark.guarantee("G7", "J1")
def test_a_run_that_is_no_coding_session_tells_what_it_says_it_tried() -> None:
    assert explained(ending=GIVEN_UP).evidence == ("in the words of the session",)


@pytest.mark.guarantee("G7")
def test_a_session_whose_facts_tell_nothing_of_it_tells_what_it_says_it_tried() -> None:
    assert explained("coding.opened", ending=GIVEN_UP).evidence == ("in the words of the session",)
