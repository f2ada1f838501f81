"""An example that is accepted: a failing test and a critical finding on the way, both mended."""

from __future__ import annotations

from endstop.coding.examples.example import Example
from endstop.coding.examples.moves import CODE, READS_ALL, RUNS_TESTS, TESTS, edits
from endstop.testing.replies import calls, calls_many

_TITLE = "Hours and share of each project"
_CRITERIA = [
    "The report has a line for each project with its hours and its share in per cent, most hours first.",
    "The last line of the report is the hours in all, as before.",
]
_SPECIFICATION = {
    "title": _TITLE,
    "success_criteria": _CRITERIA,
    "lines_of_code": 60,
    "acceptance_tests": ["A week with two projects gives two lines, the one with more hours first."],
}

_REPORT = '''\
def report(entries):
    """What is printed: the hours in all."""
    total = sum(entry.minutes for entry in entries)
    return f"{as_hours(total)} in all"
'''
_REPORT_PER_PROJECT = '''\
def by_project(entries):
    """The projects and their minutes, most first."""
    minutes = {}
    for entry in entries:
        if entry.project in minutes:
            minutes[entry.project] = minutes[entry.project] + entry.minutes
        else:
            minutes[entry.project] = entry.minutes
    return sorted(minutes.items(), key=lambda item: item[1])


def report(entries):
    """What is printed: each project with its hours and its share, and the hours in all."""
    total = sum(entry.minutes for entry in entries)
    percent = 100 / total
    lines = []
    for project, minutes in by_project(entries):
        lines.append(f"{as_hours(minutes)} {project} ({minutes * percent:.0f}%)")
    lines.append(f"{as_hours(total)} in all")
    return "\\n".join(lines)
'''
_ABOVE = '    assert as_hours(65) == "1:05"\n\n\n'
_PROJECTS_TEST = """\
def test_each_project_has_its_hours_and_its_share_most_hours_first():
    assert report(read(WEEK)).splitlines()[:-1] == ["2:15 garden (75%)", "0:45 website (25%)"]


"""
_EMPTY_TEST = """\
def test_an_empty_timesheet_has_no_hours():
    assert report([]) == "0:00 in all"


"""
_BELOW = "def test_the_report_ends_with_the_hours_in_all():\n"
_LEAST_FIRST = "    return sorted(minutes.items(), key=lambda item: item[1])\n"
_MOST_FIRST = "    return sorted(minutes.items(), key=lambda item: item[1], reverse=True)\n"
_UNGUARDED = "    percent = 100 / total\n"
_GUARDED = "    percent = 100 / total if total else 0\n"
_COUNTING = f"""\
    minutes = {{}}
    for entry in entries:
        if entry.project in minutes:
            minutes[entry.project] = minutes[entry.project] + entry.minutes
        else:
            minutes[entry.project] = entry.minutes
{_MOST_FIRST}"""
_COUNTER = """\
    minutes = Counter()
    for entry in entries:
        minutes[entry.project] += entry.minutes
    return minutes.most_common()
"""
_IMPORT = "import sys\nfrom dataclasses import dataclass\n"
_IMPORT_COUNTER = "import sys\nfrom collections import Counter\nfrom dataclasses import dataclass\n"


_BUILDS = calls_many(
    edits(CODE, _REPORT, _REPORT_PER_PROJECT),
    edits(TESTS, _ABOVE + _BELOW, _ABOVE + _PROJECTS_TEST + _BELOW),
    text="The report gets a line for each project, and a test that says what I expect.",
)
_MENDS_ORDER = calls_many(
    edits(CODE, _LEAST_FIRST, _MOST_FIRST),
    text="The new test fails: the projects come with the fewest hours first. I turn the order round.",
)
_MENDS_EMPTY = calls_many(
    edits(CODE, _UNGUARDED, _GUARDED),
    edits(TESTS, _PROJECTS_TEST + _BELOW, _PROJECTS_TEST + _EMPTY_TEST + _BELOW),
    text="The critic is right: without an entry there is nothing to divide by. I add the case, and its test.",
)
_SIMPLIFIES = calls_many(
    edits(CODE, _IMPORT, _IMPORT_COUNTER),
    edits(CODE, _COUNTING, _COUNTER),
    text="A Counter does what the loop and the sorting do by hand.",
)
_SIMPLIFIES_TOO_MUCH = calls_many(
    edits(CODE, _GUARDED + "    lines = []\n", "    percent, lines = 100 / total, []\n"),
    text="The special case looks as if it could go.",
)
_VERDICTS = calls(
    "submit_verdicts",
    criteria=[
        {
            "number": 1,
            "met": True,
            "evidence": "by_project adds up the minutes, and report writes a line for each.",
            "test": "test_each_project_has_its_hours_and_its_share_most_hours_first",
        },
        {
            "number": 2,
            "met": True,
            "evidence": "The last line is written as it was.",
            "test": "test_the_report_ends_with_the_hours_in_all",
        },
    ],
)
_ROUNDING = {
    "gravity": "minor",
    "title": "Shares are rounded one by one, so they may not add up to 100",
    "file": CODE,
}
_EMPTY = {
    "gravity": "critical",
    "title": "An empty timesheet ends in a ZeroDivisionError",
    "file": CODE,
    "line": 49,
    "detail": "report([]) was 0:00 in all before this change. Now it divides 100 by a total of nothing.",
}

ACCEPTED = Example(
    name="accepted",
    title=_TITLE,
    about=(
        "A test that fails and is mended, a critical finding that takes a second round, a simplification "
        "that is kept and one that breaks a test and is taken back."
    ),
    intent="Show how many hours went into each project, and what share of all hours that is.",
    answers=("Most hours first, please.", "yes"),
    ends="Accepted after two rounds: every criterion is met, the tests pass, and nothing critical is open.",
    script={
        "interviewer": (
            READS_ALL,
            calls(
                "await_user",
                message="The report gets a line for each project. In which order: by name, or most hours "
                "first? If you say nothing, I take the name.",
            ),
            calls(
                "submit_brief",
                brief="The report shows each project with its hours and its share of all hours in per cent, "
                "most hours first. The line with the hours in all stays the last one. Assumed: shares are "
                "whole numbers.",
            ),
        ),
        "specifier 1": (READS_ALL, calls("submit_specification", **_SPECIFICATION)),
        "specifier 2": (calls("submit_specification", **_SPECIFICATION, risk="low"),),
        "pricer 1": (
            READS_ALL,
            calls(
                "submit_price",
                input_tokens=200_000,
                output_tokens=30_000,
                model_calls=25,
                minutes=5,
                why="One function changes and one is new, with two tests; two rounds, to be safe.",
            ),
        ),
        "planner": (
            calls(
                "submit_plan",
                tasks=[
                    "Add by_project to timesheet.py: the projects and their minutes, most first.",
                    "Have report write a line for each project with its hours and its share.",
                    "Test a week with two projects.",
                ],
            ),
        ),
        "builder 1": (
            READS_ALL,
            _BUILDS,
            RUNS_TESTS,
            _MENDS_ORDER,
            RUNS_TESTS,
            calls(
                "submit_work",
                summary="The report has a line for each project, with hours and share, most hours first. A "
                "test of mine found them in the wrong order; that is mended.",
            ),
        ),
        "tester 1": (_VERDICTS,),
        "critic 1": (calls("submit_issues", issues=[_EMPTY, _ROUNDING]),),
        "builder 2": (
            _MENDS_EMPTY,
            RUNS_TESTS,
            calls(
                "submit_work",
                summary="The report shows each project with its hours and its share, most hours first. An "
                "empty timesheet has no hours again, and a test says so.",
            ),
        ),
        "tester 2": (_VERDICTS,),
        "critic 2": (calls("submit_issues", issues=[_ROUNDING]),),
        "simplifier 1": (
            _SIMPLIFIES,
            calls("submit_simplification", summary="by_project counts with a Counter."),
        ),
        "simplifier 2": (
            _SIMPLIFIES_TOO_MUCH,
            calls("submit_simplification", summary="report has no special case any more."),
        ),
    },
)
