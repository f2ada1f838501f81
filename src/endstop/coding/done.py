"""When a session's work is done, and what that rests on (G9). Pure.

Done means four things: all success criteria met, tests passed, no critical issues, within budget. What is
still open is said in the same words in every round, without times and line numbers, so that rounds can be
compared (B7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from endstop.coding.shapes import CriterionVerdict, Verdicts
from endstop.events.coding import CriteriaJudged, Criterion, Gravity, Issue, Specification, TestsRun
from endstop.kernel.texts import shortened

NOT_RUN = "The tests were not run"

_MOST_FAILING = 50
_MOST_EVIDENCE_CHARS = 2_000
_LINE_WORDS = re.compile(
    r"\s*\(?\b(?:(?:on|at|in|from) )?lines? \d+(?:\s*(?:-|–|to|and)\s*\d+)*\)?", re.IGNORECASE
)
_LINE_OF_PATH = re.compile(r"(\.\w{1,8}):\d+(?:[:-]\d+)?")


def judged(
    said: Verdicts | None,
    specification: Specification,
    tests: TestsRun | None,
    *,
    round: int,  # noqa: A002 - the fact's word
) -> CriteriaJudged:
    """How the criteria stand, by the tester's word and the tests that really ran.

    A criterion nobody spoke of is not met; one that was judged twice is met only if both say so. A test that
    is named as evidence must have run and passed, wherever the report tells.
    """
    verdicts = said.criteria if said is not None else ()
    return CriteriaJudged(
        round=round,
        criteria=tuple(
            _criterion(text, [one for one in verdicts if one.number == number], tests)
            for number, text in enumerate(specification.success_criteria, start=1)
        ),
    )


def open_issues(
    tests: TestsRun | None, criteria: Iterable[Criterion], issues: Iterable[Issue]
) -> tuple[str, ...]:
    """What still has to be done: failing tests, criteria not met, critical issues. Empty when it is done."""
    said = [
        *_failing(tests),
        *(f"Not met: {one.text}" for one in criteria if not one.is_met),
        *(_issue_words(one) for one in issues if one.gravity is Gravity.CRITICAL),
    ]
    return tuple(dict.fromkeys(said))


def is_done(
    tests: TestsRun | None, criteria: Sequence[Criterion], issues: Iterable[Issue], *, is_within_budget: bool
) -> bool:
    """Whether all four hold. Without a single criterion nothing is known to be done."""
    return bool(criteria) and is_within_budget and not open_issues(tests, criteria, issues)


def evidence(
    tests: TestsRun | None,
    criteria: Sequence[Criterion],
    issues: Sequence[Issue] | None,
    *,
    is_within_budget: bool,
    spent: str,
) -> tuple[Criterion, ...]:
    """The four, each with what shows it. ``spent`` says in words what was used of which budget.

    ``issues`` is None where no critic has looked: that nobody found any shows nothing.
    """
    return (
        _criteria_evidence(criteria),
        Criterion(
            text="Tests passed",
            is_met=tests is not None and tests.are_green,
            evidence=tests_words(tests),
            is_verified=tests is not None,
        ),
        _issues_evidence(issues),
        Criterion(text="Within budget", is_met=is_within_budget, evidence=spent, is_verified=True),
    )


def tests_words(tests: TestsRun | None) -> str:
    """How the tests went, in a sentence."""
    if tests is None:
        return f"{NOT_RUN}."
    if tests.timed_out:
        return f"{tests.command} was cut off after {tests.seconds:,.0f} s."
    counts = [
        f"{number:,} {word}"
        for number, word in ((tests.passed, "passed"), (tests.failed, "failed"))
        if number is not None
    ]
    return f"{tests.command}: {', '.join([*counts, f'exit code {tests.exit_code}'])}."


def _criterion(text: str, verdicts: Sequence[CriterionVerdict], tests: TestsRun | None) -> Criterion:
    if not verdicts:
        return Criterion(text=text, is_met=False, evidence="The tester said nothing about it.")
    verdict = next((one for one in verdicts if not one.is_met), verdicts[0])
    if not verdict.is_met or verdict.test is None:
        return Criterion(text=text, is_met=verdict.is_met, evidence=verdict.evidence)
    stands = None if tests is None else _test_stands(verdict.test, tests)
    if stands is False:
        words = f"The tester named {verdict.test}, which did not pass. {verdict.evidence}"
        return Criterion(text=text, is_met=False, evidence=words.rstrip())
    words = f"{verdict.test} passed. {verdict.evidence}" if stands else verdict.evidence or verdict.test
    return Criterion(text=text, is_met=True, evidence=words.rstrip(), is_verified=stands is True)


def _test_stands(name: str, tests: TestsRun) -> bool | None:
    """Whether the test of this name passed; None where the report does not tell."""
    if any(_is_named(name, full) for full in tests.failing):
        return False
    if any(_is_named(name, full) for full in tests.passing):
        return True
    tells_all = bool(tests.passing) and tests.passed == len(tests.passing)
    return False if tells_all else None


def _is_named(name: str, full: str) -> bool:
    """Whether ``full``, a test as the report has it, is meant by ``name``: without its path or parameters."""
    bare, _, _ = full.partition("[")
    return any(one == name or one.endswith((f"::{name}", f"/{name}", f".{name}")) for one in (full, bare))


def _failing(tests: TestsRun | None) -> list[str]:
    if tests is None:
        return [NOT_RUN]
    if tests.are_green:
        return []
    if tests.timed_out:
        return ["The tests do not come to an end in time"]
    named = [f"Test fails: {name}" for name in tests.failing[:_MOST_FAILING]]
    if len(tests.failing) > _MOST_FAILING:
        named.append("More tests fail")
    return named or [f"The tests fail with exit code {tests.exit_code}"]


def _issue_words(issue: Issue) -> str:
    steady = _LINE_OF_PATH.sub(r"\1", _LINE_WORDS.sub("", issue.title)).strip(" :,;")
    where = _LINE_OF_PATH.sub(r"\1", issue.file)
    return f"Critical: {steady or issue.title}" + (f" ({where})" if where else "")


def _criteria_evidence(criteria: Sequence[Criterion]) -> Criterion:
    met = sum(one.is_met for one in criteria)
    listed = "; ".join(
        f"{number}. {one.text.rstrip('.')}: {'met' if one.is_met else 'not met'}"
        + (f" ({one.evidence})" if one.evidence else "")
        for number, one in enumerate(criteria, start=1)
    )
    words = f"{met} of {len(criteria)}. {listed}" if criteria else "Nobody has judged them."
    return Criterion(
        text="All success criteria met",
        is_met=bool(criteria) and met == len(criteria),
        evidence=shortened(words, _MOST_EVIDENCE_CHARS),
        is_verified=bool(criteria) and all(one.is_verified for one in criteria),
    )


def _issues_evidence(issues: Sequence[Issue] | None) -> Criterion:
    if issues is None:
        return Criterion(text="No critical issues", is_met=False, evidence="Nobody has looked for them.")
    critical = [one.title for one in issues if one.gravity is Gravity.CRITICAL]
    others = len(issues) - len(critical)
    words = f"The critic found {len(critical)} critical and {others} other issues."
    if critical:
        words = f"{words} Critical: {'; '.join(critical)}."
    return Criterion(
        text="No critical issues", is_met=not critical, evidence=shortened(words, _MOST_EVIDENCE_CHARS)
    )
