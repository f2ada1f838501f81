"""What the roles hand in: read strictly where a type is broken, kindly where something is only missing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.coding.shapes import CriterionVerdict, Estimate, Plan, ReviewChoice, ReviewGiven, Way
from endstop.coding.submissions import (
    MOST_ITEMS,
    MOST_TEXT_CHARS,
    SUBMISSIONS,
    SUBMIT_BRIEF,
    SUBMIT_ISSUES,
    SUBMIT_PRICE,
    SUBMIT_REVIEW,
    SUBMIT_SIMPLIFICATION,
    SUBMIT_SPECIFICATION,
    SUBMIT_VERDICTS,
    SUBMIT_WORK,
    Submission,
    submit_plan,
)
from endstop.errors import ToolArgumentsError, ToolError, ToolRefusedError
from endstop.events.coding import Gravity, Issue, Risk, Specification
from endstop.ports import Tool, ToolContext

CONTEXT = ToolContext(run_id="r", scope="", turn=0, call="c")
PRICE = {"input_tokens": 1_000, "output_tokens": 100, "model_calls": 5, "minutes": 2}


def test_each_is_a_tool_known_by_its_name() -> None:
    for name, submission in SUBMISSIONS.items():
        assert isinstance(submission, Tool)
        assert submission.name == submission.spec.name == name
        assert submission.spec.parameters["type"] == "object"
    assert set(SUBMISSIONS) == {
        "submit_brief",
        "submit_specification",
        "submit_price",
        "submit_plan",
        "submit_work",
        "submit_verdicts",
        "submit_issues",
        "submit_simplification",
        "submit_review",
    }


async def test_the_value_of_a_call_is_what_its_arguments_read_as() -> None:
    arguments = json.dumps({"summary": "  Added a parser. "})
    result = await SUBMIT_WORK.call(arguments, CONTEXT)
    assert result.value == SUBMIT_WORK.read(arguments)
    assert SUBMIT_WORK.read(arguments).summary == "Added a parser."
    assert isinstance(result.value, SUBMIT_WORK.shape)


def test_a_whole_specification_is_read() -> None:
    assert SUBMIT_SPECIFICATION.read(
        json.dumps(
            {
                "title": "Parse dates",
                "success_criteria": ["ISO dates are read"],
                "lines_of_code": 120,
                "acceptance_tests": ["2024-01-02 gives that day"],
                "risk": "low",
                "notes": "Use the module there is.",
            }
        )
    ) == Specification(
        title="Parse dates",
        success_criteria=("ISO dates are read",),
        lines_of_code=120,
        acceptance_tests=("2024-01-02 gives that day",),
        risk=Risk.LOW,
        notes="Use the module there is.",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{}",
        "null",
        '{"risk": null, "lines_of_code": null, "title": null, "success_criteria": null}',
        '{"success_criteria": ["", "  "], "acceptance_tests": []}',
    ],
)
def test_a_specification_may_lack_everything(arguments: str) -> None:
    assert SUBMIT_SPECIFICATION.read(arguments) == Specification()


def test_slips_that_leave_no_doubt_are_mended() -> None:
    read = SUBMIT_SPECIFICATION.read('{"lines_of_code": "40", "success_criteria": "[\\"a\\"]"}')
    assert (read.lines_of_code, read.success_criteria) == (40, ("a",))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"lines_of_code": "many"}, "lines_of_code"),
        ({"lines_of_code": 0}, "lines_of_code"),
        ({"lines_of_code": True}, "lines_of_code"),
        ({"risk": "gigantic"}, "risk"),
        ({"success_criteria": "all"}, "success_criteria"),
        ({"success_criteria": [["a"]]}, "success_criteria"),
        ({"success_criteria": ["a"] * (MOST_ITEMS + 1)}, "success_criteria"),
        ({"notes": "x" * (MOST_TEXT_CHARS + 1)}, "notes"),
        ({"sucess_criteria": ["a"]}, "probably success_criteria was meant"),
    ],
)
def test_a_broken_specification_is_refused_in_words(arguments: dict[str, Any], word: str) -> None:
    with pytest.raises(ToolArgumentsError, match=word):
        SUBMIT_SPECIFICATION.read(json.dumps(arguments))


def test_an_estimate_is_read_with_its_ways_out() -> None:
    estimate = SUBMIT_PRICE.read(
        json.dumps(
            {
                **PRICE,
                "why": "two files",
                "smaller_scope": {"what": "only the parser", "input_tokens": 10, "output_tokens": 1},
                "phases": "parser first",
                "simpler_approach": {"what": " ", "input_tokens": 10, "output_tokens": 1},
            }
        )
    )
    assert estimate == Estimate(
        input_tokens=1_000,
        output_tokens=100,
        model_calls=5,
        minutes=2.0,
        why="two files",
        smaller_scope=Way(what="only the parser", input_tokens=10, output_tokens=1),
        phases="parser first",
    )
    assert estimate.tokens == 1_100


@pytest.mark.parametrize(
    "changed",
    [
        {"input_tokens": -1},
        {"output_tokens": 10**10},
        {"model_calls": 0},
        {"minutes": 10**9},
        {"minutes": None},
    ],
)
def test_an_estimate_out_of_all_bounds_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ToolArgumentsError, match=next(iter(changed))):
        SUBMIT_PRICE.read(json.dumps({**PRICE, **changed}))


def test_no_number_is_not_a_number_of_minutes() -> None:
    with pytest.raises(ToolArgumentsError):
        SUBMIT_PRICE.read('{"input_tokens": 1, "output_tokens": 1, "model_calls": 1, "minutes": NaN}')


@pytest.mark.guarantee("G5")
def test_a_plan_of_more_tasks_than_allowed_is_refused() -> None:
    tasks = [f"task {number}" for number in range(20)]
    assert submit_plan().read(json.dumps({"tasks": tasks})) == Plan(tasks=tuple(tasks))
    for many in (21, 500):
        with pytest.raises(ToolRefusedError, match="Break into multiple sessions"):
            submit_plan().read(json.dumps({"tasks": ["t"] * many}))
    with pytest.raises(ToolRefusedError, match="at most 3 tasks"):
        submit_plan(3).read(json.dumps({"tasks": ["t"] * 4}))


def test_a_plan_without_a_task_is_no_plan() -> None:
    with pytest.raises(ToolArgumentsError, match="no task"):
        submit_plan().read('{"tasks": [" "]}')


def test_verdicts_go_by_number() -> None:
    read = SUBMIT_VERDICTS.read(
        '{"criteria": [{"number": 1, "met": true, "evidence": "a.py", "test": "test_a"},'
        ' {"number": "2", "met": false, "evidence": null, "test": ""}]}'
    )
    assert read.criteria == (
        CriterionVerdict(number=1, is_met=True, evidence="a.py", test="test_a"),
        CriterionVerdict(number=2, is_met=False),
    )


def test_issues_keep_the_critics_order() -> None:
    read = SUBMIT_ISSUES.read(
        json.dumps(
            {
                "issues": [
                    {"gravity": "minor", "title": "A name", "file": "a.py", "line": 3, "detail": "Say more."},
                    {"gravity": "critical", "title": "", "detail": "It loses data"},
                    {"gravity": "major", "title": " ", "file": None, "line": None, "detail": None},
                ]
            }
        )
    )
    assert read.issues == (
        Issue(gravity=Gravity.MINOR, title="A name", file="a.py", line=3, detail="Say more."),
        Issue(gravity=Gravity.CRITICAL, title="It loses data", detail="It loses data"),
    )
    assert SUBMIT_ISSUES.read('{"issues": []}').issues == ()


def test_a_review_is_one_of_three_decisions() -> None:
    read = SUBMIT_REVIEW.read('{"decision": "needs_changes", "why": "Use the parser there is."}')
    assert read == ReviewGiven(decision=ReviewChoice.NEEDS_CHANGES, why="Use the parser there is.")
    with pytest.raises(ToolArgumentsError, match="decision"):
        SUBMIT_REVIEW.read('{"decision": "maybe", "why": "x"}')


@pytest.mark.parametrize(
    ("submission", "arguments"),
    [
        (SUBMIT_BRIEF, '{"brief": " "}'),
        (SUBMIT_WORK, '{"summary": ""}'),
        (SUBMIT_SIMPLIFICATION, '{"summary": "\\n"}'),
        (SUBMIT_REVIEW, '{"decision": "approved", "why": ""}'),
    ],
)
def test_empty_words_are_no_result(submission: Submission[Any], arguments: str) -> None:
    with pytest.raises(ToolArgumentsError, match="empty"):
        submission.read(arguments)


def test_what_was_said_can_be_kept_in_every_store() -> None:
    assert "\0" not in SUBMIT_BRIEF.read('{"brief": "a\\u0000b"}').text
    assert SUBMIT_SIMPLIFICATION.read('{"summary": "less"}').summary == "less"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["tasks", "issues", "criteria", "title", "risk", "number", "met", "why"])
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(name=st.sampled_from(sorted(SUBMISSIONS)), arguments=_JSON.map(json.dumps) | st.text(max_size=60))
def test_whatever_a_model_writes_is_read_or_refused_in_words(name: str, arguments: str) -> None:
    submission = SUBMISSIONS[name]
    try:
        read = submission.read(arguments)
    except ToolError:
        return
    assert isinstance(read, submission.shape)
    assert submission.read(arguments) == read
