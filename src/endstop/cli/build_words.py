"""What happens in a coding session, as lines for a person: what it is about first, then what it came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from endstop.cli.output import Output
from endstop.cli.texts import clean, cost, count, one_line
from endstop.events import coding
from endstop.events.coding_standing import SessionView, StepStanding
from endstop.events.coding_view import short_commit
from endstop.events.coding_words import told_of_coding
from endstop.events.facts import Payload

_MOST_LISTED = 8
_TITLE_CHARS = 200
_DETAIL_CHARS = 300
_MARKS = {
    StepStanding.DONE: "✓",
    StepStanding.RUNNING: "▸",
    StepStanding.FAILED: "✗",
    StepStanding.WAITING: "·",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line for a person, and how it looks where there is colour."""

    text: str
    style: str = ""


def tell_line(output: Output, text: str, style: str = "") -> None:
    """Print a line; where a terminal breaks it, what follows stands below its beginning, not at the edge."""
    if not output.is_terminal:
        output.say(text)
        return
    from rich.padding import Padding
    from rich.text import Text

    words = text.lstrip()
    indent = len(text) - len(words)
    output.draw(Padding(Text(clean(words), style=style, overflow="fold"), (0, 0, 0, indent), expand=False))


def lines_of(payload: Payload) -> tuple[Line, ...]:
    """A fact of a coding session: its title, and what belongs to it indented below; nothing for others."""
    told = told_of_coding(payload)
    if told is None or _goes_without_saying(payload):
        return ()
    title, detail = told
    return (
        Line(text=one_line(title, _TITLE_CHARS), style=_style(payload)),
        *(Line(text=f"  {one_line(each, _DETAIL_CHARS)}", style="dim") for each in _details(payload, detail)),
    )


def stepper(view: SessionView) -> str:
    """Where a session stands among its steps, on one line."""
    steps = [f"{_MARKS[step.standing]} {step.name.value}" for step in view.steps]
    is_done = view.steps[-1].standing is StepStanding.DONE
    return "   ".join([*steps, f"{_MARKS[StepStanding.DONE if is_done else StepStanding.WAITING]} done"])


def criterion_lines(criteria: Sequence[coding.Criterion]) -> tuple[Line, ...]:
    """Each criterion, whether it is met, and what that rests on: a test that ran, or somebody's word."""
    lines: list[Line] = []
    for one in criteria:
        met = "met" if one.is_met else "not met"
        word = "verified" if one.is_verified else "the tester's word"
        lines.append(
            Line(
                text=f"{'✓' if one.is_met else '✗'} {one_line(one.text, _TITLE_CHARS)}",
                style="green" if one.is_met else "red",
            )
        )
        evidence = f": {one_line(one.evidence, _DETAIL_CHARS)}" if one.evidence else ""
        lines.append(Line(text=f"    {met}, {word}{evidence}", style="dim"))
    return tuple(lines)


def listed(texts: Sequence[str], most: int = _MOST_LISTED) -> list[str]:
    """The first few of many, and how many there are besides."""
    more = len(texts) - most
    return [*texts[:most], f"… and {more:,} more"] if more > 0 else list(texts)


def issue_words(issue: coding.Issue) -> str:
    """An issue with its gravity and its place."""
    line = "" if issue.line is None else f":{issue.line}"
    where = f" ({issue.file}{line})" if issue.file else ""
    return f"{issue.gravity.value}: {issue.title}{where}"


def _goes_without_saying(payload: Payload) -> bool:
    """The ending says more than that it has come, and a price that the policy approves says so itself."""
    match payload:
        case coding.SessionConcluded():
            return True
        case coding.PriceDecided(choice=coding.PriceChoice.APPROVED, by="policy"):
            return True
        case _:
            return False


def _details(payload: Payload, detail: str) -> list[str]:
    match payload:
        case coding.SessionOpened() as opened:
            return [
                f"of {opened.repository}, from commit {short_commit(opened.base)}",
                f"tests: {opened.test_command}",
                f"commands: {opened.confinement}",
            ]
        case coding.SpecificationGiven(lacking=(), specification=specification):
            return [specification.title, *_numbered(specification.success_criteria)]
        case coding.PriceGiven(verdict=verdict) if verdict is not coding.PriceVerdict.APPROVED:
            return []  # the question follows, with all of it
        case coding.PriceGiven() as price:
            size = f"about {price.tokens:,} tokens in {count(price.model_calls, 'model call')}"
            return [f"{size}, {price.minutes:,.4g} minutes", *_said(detail)]
        case coding.PlanGiven(tasks=tasks):
            return _numbered(tasks)
        case coding.TestsRun() as tests:
            return [_test_counts(tests), *listed([f"failed: {name}" for name in tests.failing])]
        case coding.CriteriaJudged(criteria=criteria):
            return listed([f"not met: {one.text}" for one in criteria if not one.is_met])
        case coding.IssuesFound() as found:
            return _issue_details(found)
        case coding.RoundEnded() as ended:
            changed = f"+{ended.added:,} -{ended.removed:,} lines in {count(ended.files, 'file')}"
            spent = f"cost {cost(ended.cost_usd)}"
            commit = f"commit {short_commit(ended.commit)}"
            return [f"{changed}, {spent}, {commit}", *listed([f"open: {one}" for one in ended.open_issues])]
        case _:
            return _said(detail)


def _said(text: str) -> list[str]:
    return [text] if text.strip() else []


def _numbered(texts: Sequence[str]) -> list[str]:
    return listed([f"{number}. {text}" for number, text in enumerate(texts, start=1)], most=20)


def _test_counts(tests: coding.TestsRun) -> str:
    counts = [
        f"{number:,} {word}"
        for number, word in ((tests.passed, "passed"), (tests.failed, "failed"))
        if number is not None
    ]
    how = ", ".join(counts or [f"exit code {tests.exit_code}"])
    return f"{tests.command}: {how}, in {tests.seconds:,.1f} s"


def _issue_details(found: coding.IssuesFound) -> list[str]:
    grave_first = [issue for gravity in coding.Gravity for issue in found.issues if issue.gravity is gravity]
    left_out = [f"{found.left_out:,} more that do not count in this round"] if found.left_out else []
    return [*listed([issue_words(one) for one in grave_first]), *left_out]


def _style(payload: Payload) -> str:
    """What went well is green, what has to be done again is yellow; the rest is as it is."""
    match payload:
        case coding.SpecificationGiven(lacking=lacking):
            return "yellow" if lacking else "green"
        case coding.PriceGiven(verdict=verdict):
            return "green" if verdict is coding.PriceVerdict.APPROVED else "yellow"
        case coding.PriceDecided(choice=choice):
            return "green" if choice is coding.PriceChoice.APPROVED else "yellow"
        case coding.TestsRun() as tests:
            return "green" if tests.are_green else "red"
        case coding.CriteriaJudged(criteria=criteria):
            return "green" if all(one.is_met for one in criteria) else "yellow"
        case coding.IssuesFound(issues=issues):
            is_grave = any(one.gravity is coding.Gravity.CRITICAL for one in issues)
            return "red" if is_grave else "green"
        case coding.RoundEnded(open_issues=open_issues):
            return "bold yellow" if open_issues else "bold green"
        case _:
            return ""
