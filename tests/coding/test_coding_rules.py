"""The pure rules of specifying, criticising and simplifying: the figures of G1 and G5, exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.coding.criticising import counted, what_counts
from endstop.coding.policy import DEFAULT_POLICY, CriticRules, Policy, ReflexionRules
from endstop.coding.simplifying import goes_on, is_worth_it, pass_ended, saving
from endstop.coding.specifying import abandoned, lacking
from endstop.events.coding import (
    Gravity,
    Issue,
    Risk,
    SimplifyingEnded,
    Specification,
    SpecificationGiven,
    TestsRun,
)

WHOLE = Specification(
    title="Parse dates",
    success_criteria=("ISO dates are read",),
    lines_of_code=50,
    acceptance_tests=("2024-01-02 gives that day",),
    risk=Risk.LOW,
)
GREEN = TestsRun(round=1, after="building", command="pytest", exit_code=0, seconds=1)
RED = replace(GREEN, exit_code=1)
CRITICAL, MAJOR, MINOR = Gravity.CRITICAL, Gravity.MAJOR, Gravity.MINOR


@pytest.mark.guarantee("G1")
@pytest.mark.parametrize(
    ("specification", "missing"),
    [
        (WHOLE, ()),
        (replace(WHOLE, title="", notes=""), ()),
        (replace(WHOLE, success_criteria=()), ("success criteria",)),
        (replace(WHOLE, lines_of_code=None), ("lines of code",)),
        (replace(WHOLE, acceptance_tests=()), ("acceptance tests",)),
        (replace(WHOLE, risk=None), ("risk level",)),
        (Specification(), ("success criteria", "lines of code", "acceptance tests", "risk level")),
    ],
)
def test_a_specification_is_complete_when_all_four_are_there(
    specification: Specification, missing: tuple[str, ...]
) -> None:
    assert lacking(specification) == missing


@pytest.mark.guarantee("G1", "G7")
def test_a_session_without_a_specification_is_abandoned_with_what_each_attempt_lacked() -> None:
    given_ = [
        SpecificationGiven(cycle=1, attempt=1, specification=Specification(), lacking=("risk level",)),
        SpecificationGiven(cycle=1, attempt=2, specification=WHOLE, lacking=("lines of code", "risk level")),
    ]
    ending = abandoned(given_, checkpoint="abc")
    assert ending.reason == "Intent too ambiguous or context insufficient"
    assert ending.suggestion == "Rephrase your request more specifically"
    assert ending.tried == (
        "Cycle 1, attempt 1 at a specification lacked risk level.",
        "Cycle 1, attempt 2 at a specification (Parse dates) lacked lines of code, risk level.",
    )
    assert "risk level, lines of code" in ending.next_steps[0]
    assert ending.checkpoint == "abc"


def test_an_attempt_that_was_complete_says_so_and_asks_for_nothing() -> None:
    ending = abandoned([SpecificationGiven(cycle=2, attempt=1, specification=WHOLE)])
    assert ending.tried == ("Cycle 2, attempt 1 at a specification (Parse dates) was complete.",)
    assert not any("could not know" in step for step in ending.next_steps)


def issues(*gravities: Gravity) -> list[Issue]:
    return [Issue(gravity=gravity, title=f"{number}") for number, gravity in enumerate(gravities)]


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize(
    ("round_", "kept"),
    [(1, "0 1 2 3"), (2, "1 3 2 0"), (3, "1 3"), (4, "1 3"), (10, "1 3")],
)
def test_the_later_the_round_the_graver_an_issue_must_be(round_: int, kept: str) -> None:
    found = counted(issues(MINOR, CRITICAL, MAJOR, CRITICAL), round=round_, policy=DEFAULT_POLICY)
    assert found.round == round_
    assert " ".join(one.title for one in found.issues) == kept
    assert found.left_out == 4 - len(found.issues)


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize("round_", [1, 2, 3])
def test_at_most_ten_issues_count(round_: int) -> None:
    found = counted(issues(*[CRITICAL] * 12), round=round_, policy=DEFAULT_POLICY)
    assert (len(found.issues), found.left_out) == (10, 2)


def test_what_is_cut_off_is_never_graver_than_what_is_kept() -> None:
    found = counted(issues(*[MINOR] * 10, CRITICAL), round=1, policy=DEFAULT_POLICY)
    assert found.issues[-1].gravity is CRITICAL
    assert (len(found.issues), found.left_out) == (10, 1)


def test_an_issue_said_twice_is_one_as_grave_as_at_its_gravest() -> None:
    said = [
        Issue(gravity=MINOR, title="Lost data", file="a.py"),
        Issue(gravity=CRITICAL, title="lost  DATA", file="a.py", line=9),
        Issue(gravity=MAJOR, title="Lost data", file="a.py"),
        Issue(gravity=MINOR, title="Lost data", file="b.py"),
    ]
    found = counted(said, round=1, policy=DEFAULT_POLICY)
    assert [(one.gravity, one.file) for one in found.issues] == [(CRITICAL, "a.py"), (MINOR, "b.py")]
    assert found.left_out == 0


@given(st.lists(st.sampled_from(Gravity), max_size=30), st.integers(1, 10), st.integers(1, 50))
def test_no_critical_issue_is_lost_while_there_is_room(
    gravities: list[Gravity], round_: int, most: int
) -> None:
    policy = Policy(critic=CriticRules(most_issues=most))
    found = counted(issues(*gravities), round=round_, policy=policy)
    critical = sum(one.gravity is CRITICAL for one in found.issues)
    assert critical == min(gravities.count(CRITICAL), most)
    assert len(found.issues) + found.left_out == len(gravities)


def test_the_critic_is_told_what_counts() -> None:
    said = [what_counts(number, DEFAULT_POLICY) for number in (1, 2, 3)]
    assert said == [
        "Everything counts, at most 10 issues.",
        "At most 10 issues count, the gravest first.",
        "Only critical issues count now, at most 10.",
    ]


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize(("lines", "is_it"), [(0, False), (9, False), (10, True), (500, True)])
def test_changes_under_ten_lines_are_not_simplified(lines: int, is_it: bool) -> None:
    assert is_worth_it(lines, DEFAULT_POLICY) is is_it
    assert goes_on(None, lines=lines, policy=DEFAULT_POLICY) is is_it


def test_no_passes_means_none() -> None:
    assert not is_worth_it(500, Policy(reflexion=ReflexionRules(passes=0)))


def ended(number: int, before: int, after: int, *, is_kept: bool = True) -> SimplifyingEnded:
    return SimplifyingEnded(
        round=1, number=number, lines_before=before, lines_after=after, is_kept=is_kept, why=""
    )


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize(
    ("last", "lines", "goes"),
    [
        (ended(1, 100, 90), 90, True),
        (ended(1, 100, 95), 95, True),
        (ended(1, 100, 96), 96, False),
        (ended(1, 100, 100), 100, False),
        (ended(1, 100, 50, is_kept=False), 100, False),
        (ended(2, 100, 50), 50, False),
        (ended(1, 12, 9), 9, False),
    ],
)
def test_passes_end_after_two_or_when_one_saves_less_than_five_percent(
    last: SimplifyingEnded, lines: int, goes: bool
) -> None:
    assert goes_on(last, lines=lines, policy=DEFAULT_POLICY) is goes


@pytest.mark.parametrize(("before", "after", "part"), [(100, 90, 0.1), (100, 120, -0.2), (0, 0, 0.0)])
def test_saving_is_a_part_of_the_lines(before: int, after: int, part: float) -> None:
    assert saving(ended(1, before, after)) == pytest.approx(part)  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize(
    ("after", "tests", "is_kept", "why"),
    [
        (80, GREEN, True, "It saved 20 of 100 lines (20%), and the tests pass."),
        (99, GREEN, True, "It saved 1 of 100 lines (1%), and the tests pass."),
        (100, GREEN, False, "It saved no line: it was taken back."),
        (130, GREEN, False, "It saved no line: it was taken back."),
        (80, RED, False, "The tests did not pass after it: it was taken back."),
        (80, replace(GREEN, timed_out=True), False, "The tests did not pass after it: it was taken back."),
        (80, None, False, "The tests were not run after it: it was taken back."),
    ],
)
def test_a_pass_is_kept_if_it_saved_lines_and_the_tests_pass(
    after: int, tests: TestsRun | None, is_kept: bool, why: str
) -> None:
    judged = pass_ended(round=2, number=1, lines_before=100, lines_after=after, tests=tests)
    assert (judged.round, judged.number) == (2, 1)
    assert (judged.is_kept, judged.why) == (is_kept, why)
