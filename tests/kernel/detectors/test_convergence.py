"""Rounds of work that change nothing (B7)."""

from decimal import Decimal

import pytest

from endstop.kernel.detectors import Convergence
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.observation import IterationEnded
from endstop.kernel.thresholds import Thresholds
from endstop.testing import ObservationScript, watch


def findings(*iterations: dict[str, object], thresholds: Thresholds | None = None) -> list[Finding]:
    """What is found after iterations that each have the given fields."""
    observations = [
        IterationEnded(at_s=number, iteration=number, **fields)  # pyright: ignore[reportArgumentType]
        for number, fields in enumerate(iterations)
    ]
    return watch(Convergence(thresholds=thresholds or Thresholds()), observations)[1]


def issues(*lists: tuple[str, ...]) -> list[dict[str, object]]:
    return [{"issues": each} for each in lists]


def lines(*counts: int | None) -> list[dict[str, object]]:
    return [{"lines_of_code": count} for count in counts]


def costs(*dollars: str | None) -> list[dict[str, object]]:
    return [{"cost_usd": None if each is None else Decimal(each)} for each in dollars]


@pytest.mark.guarantee("B7", "B8")
def test_a_finding_says_what_did_not_change() -> None:
    script = ObservationScript()
    for _ in range(3):
        script.iteration("slow", "ugly", failing_tests=1, lines_of_code=120, cost_usd="0.50")
    _, (finding,) = watch(Convergence(), script)
    assert finding.pattern is Pattern.NOT_CONVERGING
    assert finding.message == (
        "3 iterations changed nothing: the same open issues; lines of code within 10 of each other; "
        "the same estimated cost"
    )
    assert finding.advice.startswith("Accept the present state")
    assert [each.turn for each in finding.evidence] == [0, 1, 2]
    assert finding.evidence[0].what == "iteration 1: 2 open issues, 1 failing tests, 120 lines, $0.50"


@pytest.mark.guarantee("B7")
@pytest.mark.parametrize(
    ("iterations", "found"),
    [
        (issues(("a",), ("a",)), 0),
        (issues(("a",), ("a",), ("a",)), 1),
        (issues(("a", "b"), ("b", "a"), ("A ", "b", "a")), 1),
        (issues(("a",), ("b",), ("a",)), 0),
        (issues(("a",), ("a",), ("a", "b")), 0),
        (issues((), (), ()), 0),
    ],
    ids=["two only", "three", "as a set", "changing", "growing", "none at all"],
)
def test_the_same_issues_three_times(iterations: list[dict[str, object]], found: int) -> None:
    assert len(findings(*iterations)) == found


@pytest.mark.guarantee("B7")
@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ((100, 105), 0),
        ((100, 109, 101), 1),
        ((100, 110, 105), 1),
        ((100, 111, 105), 0),
        ((100, None, 100), 0),
        ((0, 0, 0), 1),
        ((100, 200, 100, 100, 100), 1),
    ],
)
def test_lines_of_code_within_ten_of_each_other(counts: tuple[int | None, ...], found: int) -> None:
    assert len(findings(*lines(*counts))) == found


@pytest.mark.guarantee("B7")
@pytest.mark.parametrize(
    ("dollars", "found"),
    [
        (("1", "1"), 0),
        (("1", "1.00", "1.0"), 1),
        (("1", "1", "1.01"), 0),
        ((None, None, None), 0),
        (("1", None, "1"), 0),
    ],
)
def test_the_same_estimated_cost_three_times(dollars: tuple[str | None, ...], found: int) -> None:
    assert len(findings(*costs(*dollars))) == found


@pytest.mark.guarantee("B7")
@pytest.mark.parametrize("fields", [{"lines_of_code": 100}, {"cost_usd": Decimal(1)}], ids=["lines", "cost"])
@pytest.mark.parametrize(
    ("failing_tests", "open_issues", "found"),
    [
        ((5, 5, 5), "abc abc abd", 1),
        ((5, 5, 4), "abc abc abd", 0),
        ((5, 4, 5), "abc abc abd", 1),
        ((5, 5, 6), "abc abc abd", 1),
        ((5, 5, 5), "abc abc ab", 0),
        ((5, 5, 5), "abc ab abd", 1),
        ((5, 5, 4), "abc abc abcd", 0),
        ((5, 5, 6), "abc abc ab", 0),
        ((5, 5, 5), "ab abc ab", 1),
        ((5, 6, 5), "abc abc abd", 1),
    ],
)
def test_lines_and_cost_count_only_while_neither_issues_nor_failing_tests_have_fallen(
    fields: dict[str, object], failing_tests: tuple[int, ...], open_issues: str, found: int
) -> None:
    iterations = [
        {**fields, "failing_tests": failing, "issues": tuple(letters)}
        for failing, letters in zip(failing_tests, open_issues.split(), strict=True)
    ]
    assert len(findings(*iterations)) == found


@pytest.mark.guarantee("B7")
def test_the_same_issues_count_even_though_failing_tests_fell() -> None:
    iterations: list[dict[str, object]] = [
        {"issues": ("a",), "failing_tests": failing, "lines_of_code": 5} for failing in (3, 2, 1)
    ]
    (finding,) = findings(*iterations)
    assert finding.message == "3 iterations changed nothing: the same open issues"


@pytest.mark.guarantee("B7")
def test_what_goes_on_is_reported_again_after_each_further_window() -> None:
    assert [finding.times for finding in findings(*lines(*[7] * 9))] == [3, 6, 9]
    assert [finding.times for finding in findings(*lines(7, 7, 7, 900, 7, 7, 7))] == [3, 3]


@pytest.mark.guarantee("B7", "B11")
def test_window_and_lines_can_be_set() -> None:
    wide = Thresholds(convergence_iterations=8, convergence_lines=0)
    assert findings(*lines(*[7] * 7), thresholds=wide) == []
    (finding,) = findings(*lines(*[7] * 8), thresholds=wide)
    assert [each.turn for each in finding.evidence] == [0, 1, 2, 5, 6, 7]
    assert findings(*lines(*[7] * 7, 8), thresholds=wide) == []


def test_it_keeps_only_its_window_and_nothing_else_concerns_it() -> None:
    script = ObservationScript()
    for number in range(50):
        script.iteration(f"issue {number}" * 100)
    detector, _ = watch(Convergence(), script)
    assert len(detector.window) == 3
    for observation in ObservationScript().user().turn(text="Hello."):
        assert detector.observe(observation) == (detector, None)
