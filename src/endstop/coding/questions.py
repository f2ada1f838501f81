"""The question each role is asked: what it is to work from, bounded in length, where it stands on line one.

What others wrote (files, diffs, test output, agents) stands in fences that say what it is. A fence is longer
than any in the text, so that no text can end its own. Long texts are shortened in the middle and say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from endstop.coding.criticising import what_counts
from endstop.coding.done import tests_words
from endstop.coding.policy import Policy
from endstop.events.coding import Alternative, Issue, Specification, TestsRun
from endstop.kernel.limits import money
from endstop.kernel.review import Review
from endstop.kernel.texts import shortened

MOST_QUESTION_CHARS = 24_000

_DIFF_CHARS = 12_000
_SPECIFICATION_CHARS = 5_000
_LIST_CHARS = 3_000
_TEXT_CHARS = 3_000
_OUTPUT_CHARS = 3_000
_LINE_CHARS = 1_000
_LONGEST_FENCE = "`" * 20
_LONG_FENCES = re.compile(r"`{20,}")
_FENCES = re.compile(r"`{3,}")


def interview_question(intent: str, repository_summary: str = "") -> str:
    """Asked of the interviewer."""
    return _whole(
        "Interview the user about this request.",
        _data("The request", intent, _TEXT_CHARS),
        _data("The repository", repository_summary, _TEXT_CHARS),
    )


def specify_question(
    intent: str,
    brief: str = "",
    *,
    attempt: int,
    policy: Policy,
    lacking: Sequence[str] = (),
    alternative: Alternative | None = None,
    tried: Sequence[str] = (),
) -> str:
    """Asked of the specifier. ``lacking``: what the attempt before did not have."""
    return _whole(
        f"Attempt {attempt} of {policy.specify.attempts}.",
        _data("The request", intent, _TEXT_CHARS),
        _data("What the user said in the interview", brief, _TEXT_CHARS),
        f"The last attempt lacked: {', '.join(lacking)}. Give them this time." if lacking else "",
        _alternative(alternative),
        _listed("What was tried before", tried),
    )


def price_question(specification: Specification, *, cycle: int, policy: Policy, size: str = "") -> str:
    """Asked of the pricer. ``size``: how large the repository is, in words."""
    price = policy.price
    return _whole(
        f"Cycle {cycle} of {policy.price.cycles}.",
        "Estimate what this will take to build.",
        specification_words(specification),
        _data("The repository", size, _TEXT_CHARS),
        f"The build has at most {policy.build.rounds} rounds of up to {policy.build.turns} builder turns. "
        f"A price over ${money(price.reject_over_usd)} is rejected: give the ways out in any case.",
    )


def plan_question(
    specification: Specification, *, policy: Policy, alternative: Alternative | None = None
) -> str:
    """Asked of the planner."""
    return _whole(
        f"Plan this in at most {policy.plan.most_tasks} tasks. You have {policy.plan.seconds:g} seconds.",
        specification_words(specification),
        _alternative(alternative),
    )


def build_question(
    specification: Specification,
    plan: Sequence[str],
    *,
    round: int,  # noqa: A002 - the word for it everywhere else
    policy: Policy,
    open_issues: Sequence[str] = (),
    issues: Sequence[Issue] = (),
    tests: TestsRun | None = None,
    feedback: str = "",
) -> str:
    """Asked of the builder. ``issues`` are the critic's, with their details; ``feedback`` a reviewer's."""
    return _whole(
        f"Round {round} of {policy.build.rounds}.",
        "Build this." if round == 1 else "Go on with this: the worktree holds what earlier rounds did.",
        specification_words(specification),
        _listed("The plan", plan),
        _listed("What is still open", open_issues),
        _listed("What the critic found", [_issue_words(one) for one in issues]),
        _tests(tests),
        _data("What a reviewer says", feedback, _TEXT_CHARS),
    )


def test_question(
    specification: Specification,
    tests: TestsRun | None,
    diff: str,
    *,
    round: int,  # noqa: A002 - the word for it everywhere else
    policy: Policy,
) -> str:
    """Asked of the tester."""
    return _whole(
        f"Round {round} of {policy.build.rounds}.",
        f"Judge the {len(specification.success_criteria)} success criteria, each by its number.",
        specification_words(specification),
        _tests(tests),
        _listed("Tests that passed", () if tests is None else tests.passing),
        _data("The change", diff, _DIFF_CHARS - _LIST_CHARS, "diff"),
    )


def critic_question(
    specification: Specification,
    diff: str,
    *,
    round: int,  # noqa: A002 - the word for it everywhere else
    policy: Policy,
    known: Sequence[Issue] = (),
) -> str:
    """Asked of the critic. ``known``: what was found in the round before."""
    return _whole(
        f"Round {round} of {policy.build.rounds}.",
        f"Say what is wrong with this change. {what_counts(round, policy)}",
        specification_words(specification),
        _listed("What was found in the round before", [_issue_words(one) for one in known]),
        _data("The change", diff, _DIFF_CHARS, "diff"),
    )


def simplify_question(
    diff: str, *, number: int, policy: Policy, specification: Specification | None = None
) -> str:
    """Asked of the simplifier."""
    return _whole(
        f"Pass {number} of {policy.reflexion.passes}.",
        "Make this change simpler. It works, and its tests pass.",
        "" if specification is None else specification_words(specification),
        _data("The change", diff, _DIFF_CHARS, "diff"),
    )


def review_question(review: Review) -> str:
    """Asked of a reviewer agent."""
    findings = [f"{one.message} {one.advice}" for one in review.findings]
    return _whole(
        "Decide this review.",
        f"Why: {_line(review.why)}",
        _data("What it was doing", review.doing, _TEXT_CHARS),
        _data("What it has spent", review.spent, _TEXT_CHARS),
        _listed("What the detectors found", findings),
        f"Changes asked for in a row: {review.changes_asked_in_a_row}.",
        _listed("Warnings", review.warnings),
    )


def specification_words(specification: Specification) -> str:
    """A specification as a text, its criteria with the numbers that verdicts go by."""
    lines = specification.lines_of_code
    text = "\n".join(
        (
            f"Title: {specification.title or '(none)'}",
            "Success criteria:",
            *(f"{number}. {text}" for number, text in enumerate(specification.success_criteria, start=1)),
            "Acceptance tests:",
            *(f"- {text}" for text in specification.acceptance_tests),
            f"Lines of code: {'(not said)' if lines is None else f'at most {lines:,}'}",
            f"Risk: {specification.risk or '(not said)'}",
            *((f"Notes: {specification.notes}",) if specification.notes else ()),
        )
    )
    return _data("The specification", text, _SPECIFICATION_CHARS)


def _tests(tests: TestsRun | None) -> str:
    if tests is None:
        return ""
    failing = _listed("Tests that fail", tests.failing)
    output = "" if tests.are_green else _data("The end of the test output", tests.output, _OUTPUT_CHARS)
    return "\n\n".join(part for part in (f"The tests: {_line(tests_words(tests))}", failing, output) if part)


def _alternative(alternative: Alternative | None) -> str:
    if alternative is None:
        return ""
    kind = alternative.kind.value.replace("_", " ")
    return _data(f"The user rejected the price and chose instead ({kind})", alternative.what, _TEXT_CHARS)


def _issue_words(issue: Issue) -> str:
    where = f" ({issue.file}{f':{issue.line}' if issue.line is not None else ''})" if issue.file else ""
    return f"{issue.gravity}: {issue.title}{where}" + (f" {issue.detail}" if issue.detail else "")


def _listed(title: str, texts: Iterable[str]) -> str:
    return _data(title, "\n".join(f"- {_line(text)}" for text in texts), _LIST_CHARS)


def _line(text: str) -> str:
    """On one line, so that it cannot look like a part of the question."""
    return " ".join(shortened(text, _LINE_CHARS).split())


def _data(title: str, text: str, most_chars: int, language: str = "") -> str:
    """A text of others under its title. Nothing at all where there is no text."""
    if not text.strip():
        return ""
    shown = _LONG_FENCES.sub(_LONGEST_FENCE, shortened(text.strip("\n"), most_chars))
    fence = "`" * (max(map(len, _FENCES.findall(shown)), default=2) + 1)
    return f"{title}:\n{fence}{language}\n{shown}\n{fence}"


def _whole(*parts: str) -> str:
    return shortened("\n\n".join(part for part in parts if part), MOST_QUESTION_CHARS)
