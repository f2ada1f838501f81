"""An example that gets nowhere: every round swaps one wrong result for another."""

from __future__ import annotations

from endstop.coding.examples.example import Example
from endstop.coding.examples.moves import CODE, READS_ALL, RUNS_TESTS, TESTS, edits
from endstop.testing.replies import ScriptedReply, calls, calls_many

_BEFORE = "    return _minutes(end) - _minutes(start)\n"
_WITHOUT_SIGN = "    return abs(_minutes(end) - _minutes(start))\n"
_AT_LEAST_NOTHING = "    return max(_minutes(end) - _minutes(start), 0)\n"
_UNTIL_MIDNIGHT = "    return (_minutes(end) if end >= start else 24 * 60) - _minutes(start)\n"
_ABOVE = '    assert minutes_between("09:00", "10:30") == 90\n\n\n'
_WEAK_TEST = """\
def test_minutes_are_never_negative():
    assert minutes_between("22:00", "01:00") >= 0


"""
_BELOW = "def test_each_line_is_an_entry():\n"

_VERDICTS = calls(
    "submit_verdicts",
    criteria=[
        {
            "number": 1,
            "met": True,
            "evidence": "Work from 22:00 to 01:00 is not negative.",
            "test": "test_minutes_are_never_negative",
        },
        {
            "number": 2,
            "met": True,
            "evidence": "Work within a day counts as it did.",
            "test": "test_minutes_are_counted_from_start_to_end",
        },
    ],
)


def _finds(detail: str) -> ScriptedReply:
    """The same finding each time, with what is wrong this time."""
    issue = {
        "gravity": "critical",
        "title": "Work past midnight is counted wrongly",
        "file": CODE,
        "line": 19,
        "detail": f"From 22:00 to 01:00 are 3 hours. {detail}",
    }
    return calls("submit_issues", issues=[issue])


def _hands_in(summary: str) -> ScriptedReply:
    return calls("submit_work", summary=summary)


STUCK = Example(
    name="stuck",
    title="Rounds that lead nowhere",
    about=(
        "The tests pass each time, and each time the critic finds the same: the builder swaps one wrong "
        "result for another. After three such rounds there is no fourth."
    ),
    intent="Work past midnight gives negative hours. Mend that.",
    ends="Stopped as stuck after three rounds with the same finding, with the table of rounds.",
    script={
        "interviewer": (
            READS_ALL,
            calls(
                "submit_brief",
                brief="Work past midnight, say from 22:00 to 01:00, must not count as negative hours.",
            ),
        ),
        "specifier 1": (
            READS_ALL,
            calls(
                "submit_specification",
                title="No negative hours",
                success_criteria=[
                    "Work that ends after midnight does not count as negative hours.",
                    "Work within a day counts as before.",
                ],
                lines_of_code=20,
                acceptance_tests=["Work from 22:00 to 01:00 is not negative."],
                risk="low",
            ),
        ),
        "pricer 1": (
            calls(
                "submit_price",
                input_tokens=120_000,
                output_tokens=10_000,
                model_calls=12,
                minutes=3,
                why="One line changes, and a test is new.",
            ),
        ),
        "planner": (calls("submit_plan", tasks=["Mend minutes_between in timesheet.py, and test it."]),),
        "builder 1": (
            READS_ALL,
            calls_many(
                edits(CODE, _BEFORE, _WITHOUT_SIGN),
                edits(TESTS, _ABOVE + _BELOW, _ABOVE + _WEAK_TEST + _BELOW),
                text="The sign is wrong, so I take it away.",
            ),
            RUNS_TESTS,
            _hands_in("The minutes are counted without their sign, so they are never negative."),
        ),
        "tester 1": (_VERDICTS,),
        "critic 1": (_finds("Without the sign it is 21 hours: the part of the day that was not worked."),),
        "builder 2": (
            calls_many(
                edits(CODE, _WITHOUT_SIGN, _AT_LEAST_NOTHING),
                text="21 hours is too much. I cut it off at nothing.",
            ),
            RUNS_TESTS,
            _hands_in("What would be negative counts as nothing."),
        ),
        "tester 2": (_VERDICTS,),
        "critic 2": (_finds("Cut off it is nothing: the work is lost."),),
        "builder 3": (
            calls_many(
                edits(CODE, _AT_LEAST_NOTHING, _UNTIL_MIDNIGHT),
                text="Nothing is too little. I count to midnight.",
            ),
            RUNS_TESTS,
            _hands_in("Work past midnight counts until midnight."),
        ),
        "tester 3": (_VERDICTS,),
        "critic 3": (_finds("Until midnight it is 2 hours: the third is lost."),),
    },
)
