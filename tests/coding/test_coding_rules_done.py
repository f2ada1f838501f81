"""When work is done, and what that rests on (G9): tests that really ran, and words that rounds can share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from endstop.coding import done
from endstop.coding.done import evidence, is_done, judged, open_issues
from endstop.coding.shapes import CriterionVerdict, Verdicts
from endstop.events.coding import Criterion, Gravity, Issue, Specification, TestsRun

GREEN = TestsRun(
    round=1,
    after="building",
    command="pytest -q",
    exit_code=0,
    seconds=2.5,
    passed=3,
    failed=0,
    passing=("tests/test_a.py::test_one", "tests/test_a.py::test_two[1]", "tests/test_a.py::test_two[2]"),
)
RED = replace(GREEN, exit_code=1, passed=2, failed=1, failing=("tests/test_a.py::test_two[2]",))
SPECIFICATION = Specification(success_criteria=("It reads", "It writes"))
MET = Criterion(text="It reads", is_met=True, evidence="test_one passed.", is_verified=True)
NOT_MET = Criterion(text="It writes", is_met=False, evidence="Nothing does.")
CRITICAL = Issue(gravity=Gravity.CRITICAL, title="It loses data", file="a.py", line=7)
MINOR = Issue(gravity=Gravity.MINOR, title="A name")


def said(
    *, is_met: bool = True, number: int = 1, test: str | None = None, words: str = "a.py"
) -> CriterionVerdict:
    return CriterionVerdict(number=number, is_met=is_met, evidence=words, test=test)


def first(*verdicts: CriterionVerdict, tests: TestsRun | None = GREEN) -> Criterion:
    return judged(Verdicts(criteria=verdicts), SPECIFICATION, tests, round=1).criteria[0]


def test_every_criterion_gets_a_verdict_and_silence_is_not_met() -> None:
    found = judged(Verdicts(criteria=(said(number=1), said(number=9))), SPECIFICATION, GREEN, round=2)
    assert found.round == 2
    assert found.criteria == (
        Criterion(text="It reads", is_met=True, evidence="a.py"),
        Criterion(text="It writes", is_met=False, evidence="The tester said nothing about it."),
    )
    assert not any(one.is_met for one in judged(None, SPECIFICATION, GREEN, round=1).criteria)


def test_a_criterion_judged_twice_is_met_only_if_both_say_so() -> None:
    assert not first(said(), said(is_met=False, words="no")).is_met
    assert first(said(), said()).is_met


@pytest.mark.guarantee("G9")
@pytest.mark.parametrize(
    "name", ["tests/test_a.py::test_one", "test_a.py::test_one", "test_one", "test_two", "test_two[2]"]
)
def test_a_named_test_that_passed_verifies_the_verdict(name: str) -> None:
    found = first(said(test=name))
    assert (found.is_met, found.is_verified) == (True, True)
    assert found.evidence == f"{name} passed. a.py"


@pytest.mark.guarantee("G9")
@pytest.mark.parametrize("name", ["test_on", "test_three", "one"])
def test_a_named_test_that_did_not_run_is_found_out(name: str) -> None:
    found = first(said(test=name))
    assert (found.is_met, found.is_verified) == (False, False)
    assert found.evidence == f"The tester named {name}, which did not pass. a.py"


def test_a_named_test_that_failed_in_one_of_its_forms_did_not_pass() -> None:
    assert not first(said(test="test_two"), tests=RED).is_met


@pytest.mark.parametrize(
    "tests", [replace(GREEN, passing=()), replace(GREEN, passed=400), replace(GREEN, passed=None), None]
)
def test_where_the_report_does_not_tell_it_is_the_testers_word(tests: TestsRun | None) -> None:
    assert first(said(test="test_three", words=""), tests=tests) == Criterion(
        text="It reads", is_met=True, evidence="test_three"
    )


def test_a_test_does_not_make_up_for_a_criterion_that_is_not_met() -> None:
    assert not first(said(is_met=False, test="test_one")).is_met


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        (None, ("The tests were not run",)),
        (GREEN, ()),
        (RED, ("Test fails: tests/test_a.py::test_two[2]",)),
        (replace(RED, timed_out=True), ("The tests do not come to an end in time",)),
        (replace(RED, failing=()), ("The tests fail with exit code 1",)),
        (replace(GREEN, exit_code=5), ("The tests fail with exit code 5",)),
    ],
)
def test_tests_that_do_not_pass_are_open(tests: TestsRun | None, words: tuple[str, ...]) -> None:
    assert open_issues(tests, (), ()) == words


def test_of_very_many_failing_tests_some_are_named() -> None:
    many = replace(RED, failing=tuple(f"test_{number}" for number in range(80)))
    found = open_issues(many, (), ())
    assert len(found) == 51
    assert found[-1] == "More tests fail"


def test_criteria_not_met_and_critical_issues_are_open_and_nothing_else() -> None:
    assert open_issues(GREEN, (MET, NOT_MET), (MINOR, CRITICAL)) == (
        "Not met: It writes",
        "Critical: It loses data (a.py)",
    )


@pytest.mark.guarantee("B7")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Data is lost on line 12", "Data is lost on line 40"),
        ("Data is lost (lines 3-9)", "Data is lost (lines 5 to 11)"),
        ("a.py:12: data is lost", "a.py:99:3: data is lost"),
        ("Data is lost at Line 4 of it", "Data is lost of it"),
    ],
)
def test_an_issue_reads_the_same_wherever_its_line_has_moved(before: str, after: str) -> None:
    one, other = (
        open_issues(GREEN, (), [Issue(gravity=Gravity.CRITICAL, title=title, file=file, line=line)])
        for title, file, line in ((before, "a.py:3", 3), (after, "a.py:77", 77))
    )
    assert one == other
    assert "lost" in one[0]


def test_a_title_that_is_only_a_line_number_is_kept() -> None:
    assert open_issues(GREEN, (), [replace(CRITICAL, title="line 7", file="")]) == ("Critical: line 7",)


def test_two_issues_that_read_the_same_are_one() -> None:
    assert len(open_issues(GREEN, (), (CRITICAL, replace(CRITICAL, line=50)))) == 1


@pytest.mark.guarantee("G9")
@pytest.mark.parametrize(
    ("tests", "criteria", "issues", "is_within_budget", "is_it"),
    [
        (GREEN, (MET,), (MINOR,), True, True),
        (RED, (MET,), (), True, False),
        (None, (MET,), (), True, False),
        (GREEN, (MET, NOT_MET), (), True, False),
        (GREEN, (), (), True, False),
        (GREEN, (MET,), (CRITICAL,), True, False),
        (GREEN, (MET,), (), False, False),
    ],
)
def test_done_means_all_four(
    tests: TestsRun | None,
    criteria: tuple[Criterion, ...],
    issues: tuple[Issue, ...],
    is_within_budget: bool,
    is_it: bool,
) -> None:
    assert is_done(tests, criteria, issues, is_within_budget=is_within_budget) is is_it
    shown = evidence(tests, criteria, issues, is_within_budget=is_within_budget, spent="$1 of $10")
    assert all(one.is_met for one in shown) is is_it


@pytest.mark.guarantee("G9")
def test_each_of_the_four_is_shown_with_its_evidence() -> None:
    shown = evidence(GREEN, (MET,), (MINOR,), is_within_budget=True, spent="$1.20 of $10.00.")
    assert shown == (
        Criterion(
            text="All success criteria met",
            is_met=True,
            evidence="1 of 1. 1. It reads: met (test_one passed.)",
            is_verified=True,
        ),
        Criterion(
            text="Tests passed",
            is_met=True,
            evidence="pytest -q: 3 passed, 0 failed, exit code 0.",
            is_verified=True,
        ),
        Criterion(
            text="No critical issues",
            is_met=True,
            evidence="The critic found 0 critical and 1 other issues.",
        ),
        Criterion(text="Within budget", is_met=True, evidence="$1.20 of $10.00.", is_verified=True),
    )


def test_what_does_not_hold_says_why() -> None:
    bare = replace(NOT_MET, evidence="")
    criteria, tests, issues, _ = evidence(None, (MET, bare), (CRITICAL,), is_within_budget=True, spent="")
    assert criteria.evidence.endswith("2. It writes: not met")
    assert (tests.evidence, tests.is_verified) == ("The tests were not run.", False)
    assert issues.evidence == "The critic found 1 critical and 0 other issues. Critical: It loses data."
    (nobody, *_) = evidence(None, (), (), is_within_budget=True, spent="")
    assert nobody.evidence == "Nobody has judged them."


@pytest.mark.guarantee("G9")
def test_that_nobody_looked_for_issues_does_not_show_that_there_are_none() -> None:
    (_, _, issues, _) = evidence(GREEN, (MET,), None, is_within_budget=True, spent="")
    assert (issues.is_met, issues.evidence) == (False, "Nobody has looked for them.")


def test_evidence_stays_short() -> None:
    wordy = replace(MET, evidence="x" * 4_000)
    shown = evidence(
        GREEN, (wordy,) * 50, (replace(CRITICAL, title="y" * 300),) * 50, is_within_budget=True, spent=""
    )
    assert all(len(one.evidence) <= 2_000 for one in shown)


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        (replace(GREEN, passed=None, failed=None), "pytest -q: exit code 0."),
        (replace(GREEN, timed_out=True, seconds=300), "pytest -q was cut off after 300 s."),
        (None, "The tests were not run."),
    ],
)
def test_the_tests_in_a_sentence(tests: TestsRun | None, words: str) -> None:
    assert done.tests_words(tests) == words
