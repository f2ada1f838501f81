"""How each role hands in its work: one terminal tool each, with a typed result (D1).

Reading is strict where a type is broken and kind where something is only missing: a specification without a
risk level is taken, because whether it is complete is judged by us, in words that help the next attempt.
What was recorded can be read again: ``read`` of the recorded arguments gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from endstop.coding.shapes import (
    Brief,
    CriterionVerdict,
    Estimate,
    Issues,
    Plan,
    ReviewChoice,
    ReviewGiven,
    Simplification,
    Verdicts,
    Way,
    Work,
)
from endstop.errors import ToolArgumentsError, ToolRefusedError
from endstop.events.coding import Gravity, Issue, Risk, Specification
from endstop.kernel.texts import readable
from endstop.ports import ToolContext, ToolResult, ToolSpec, ToolTraits
from endstop.tools.parameters import Parameter
from endstop.tools.schema import Arguments

MOST_TEXT_CHARS = 4_000
MOST_ITEMS = 50
DEFAULT_MOST_TASKS = 20
TOO_MANY_TASKS = "Break into multiple sessions"
"""What is said to a plan that is too large (G5)."""

_MOST_TITLE_CHARS = 300
_MOST_LINES = 1_000_000
_MOST_TOKENS = 10**9
_MOST_CALLS = 100_000
_MOST_MINUTES = 100_000.0

_Text = Annotated[str, Field(max_length=MOST_TEXT_CHARS)]
_Title = Annotated[str, Field(max_length=_MOST_TITLE_CHARS)]
_Texts = Annotated[list[_Text], Field(max_length=MOST_ITEMS)]
_Lines = Annotated[int, Field(ge=1, le=_MOST_LINES)]
_Tokens = Annotated[int, Field(ge=0, le=_MOST_TOKENS)]

Shape = TypeVar("Shape")


class Submission(Generic[Shape]):
    """A terminal tool: what the model hands in, read into ``shape``."""

    traits = ToolTraits(is_idempotent=True)

    def __init__(
        self,
        name: str,
        description: str,
        *,
        shape: type[Shape],
        parameters: Sequence[Parameter],
        make: Callable[[Mapping[str, Any]], Shape],
    ) -> None:
        self.shape = shape
        self._arguments = Arguments(name, parameters)
        self._make = make
        self.spec = ToolSpec(name=name, description=description, parameters=self._arguments.schema)

    @property
    def name(self) -> str:
        return self.spec.name

    def read(self, arguments: str) -> Shape:
        """What was handed in. ``ToolArgumentsError`` or ``ToolRefusedError`` if that cannot be taken."""
        return self._make(self._arguments.read(arguments))

    async def call(self, arguments: str, context: ToolContext) -> ToolResult:  # noqa: ARG002 - the port's shape
        return ToolResult(text="Taken.", value=self.read(arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class _WayGiven:
    """Another way to go about it, and what it would take."""

    what: _Text
    input_tokens: _Tokens
    output_tokens: _Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class _VerdictGiven:
    """Whether one criterion is met, by its number."""

    number: Annotated[int, Field(ge=1, le=MOST_ITEMS)]
    met: bool
    evidence: _Text | None = None
    test: _Title | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _IssueGiven:
    """One thing that is wrong."""

    gravity: Gravity
    title: _Title
    file: _Title | None = None
    line: Annotated[int, Field(ge=1, le=_MOST_LINES)] | None = None
    detail: _Text | None = None


def _clean(text: str | None) -> str:
    return readable(text or "").strip()


def _cleaned(texts: Sequence[str]) -> tuple[str, ...]:
    """Without what says nothing: an empty criterion is no criterion."""
    return tuple(said for text in texts if (said := _clean(text)))


def _said(given: Mapping[str, Any], name: str, tool: str) -> str:
    text = _clean(given[name])
    if not text:
        raise ToolArgumentsError(f"{name} of {tool} is empty", allowed="some words", to_do="Call it again")
    return text


def _brief(given: Mapping[str, Any]) -> Brief:
    return Brief(text=_said(given, "brief", "submit_brief"))


def _specification(given: Mapping[str, Any]) -> Specification:
    return Specification(
        title=_clean(given.get("title", "")),
        success_criteria=_cleaned(given.get("success_criteria", ())),
        lines_of_code=given.get("lines_of_code"),
        acceptance_tests=_cleaned(given.get("acceptance_tests", ())),
        risk=given.get("risk"),
        notes=_clean(given.get("notes", "")),
    )


def _way(given: _WayGiven | None) -> Way | None:
    if given is None or not _clean(given.what):
        return None
    return Way(what=_clean(given.what), input_tokens=given.input_tokens, output_tokens=given.output_tokens)


def _estimate(given: Mapping[str, Any]) -> Estimate:
    return Estimate(
        input_tokens=given["input_tokens"],
        output_tokens=given["output_tokens"],
        model_calls=given["model_calls"],
        minutes=given["minutes"],
        why=_clean(given.get("why", "")),
        smaller_scope=_way(given.get("smaller_scope")),
        phases=_clean(given.get("phases", "")),
        simpler_approach=_way(given.get("simpler_approach")),
    )


def _plan(given: Mapping[str, Any], most_tasks: int) -> Plan:
    tasks = _cleaned(given["tasks"])
    if not tasks:
        raise ToolArgumentsError("The plan has no task", allowed=f"1 to {most_tasks} tasks")
    if len(tasks) > most_tasks:
        raise ToolRefusedError(
            f"The plan has {len(tasks):,} tasks",
            allowed=f"at most {most_tasks} tasks",
            to_do=f"{TOO_MANY_TASKS}: plan what one session can do, and leave the rest out",
        )
    return Plan(tasks=tasks)


def _verdicts(given: Mapping[str, Any]) -> Verdicts:
    said: list[_VerdictGiven] = given["criteria"]
    return Verdicts(
        criteria=tuple(
            CriterionVerdict(
                number=one.number,
                is_met=one.met,
                evidence=_clean(one.evidence),
                test=_clean(one.test) or None,
            )
            for one in said
        )
    )


def _issues(given: Mapping[str, Any]) -> Issues:
    found: list[_IssueGiven] = given["issues"]
    return Issues(
        issues=tuple(
            Issue(
                gravity=one.gravity,
                title=title,
                file=_clean(one.file),
                line=one.line,
                detail=_clean(one.detail),
            )
            for one in found
            if (title := _clean(one.title) or _clean(one.detail)[:_MOST_TITLE_CHARS])
        )
    )


def _review(given: Mapping[str, Any]) -> ReviewGiven:
    return ReviewGiven(decision=given["decision"], why=_said(given, "why", "submit_review"))


def _parameter(name: str, annotation: object, description: str, **more: object) -> Parameter:
    return Parameter(name=name, annotation=annotation, description=description, **more)  # pyright: ignore[reportArgumentType] - only a default


SUBMIT_BRIEF = Submission(
    "submit_brief",
    "Hand in what you learnt from the user. This ends the interview.",
    shape=Brief,
    parameters=(
        _parameter("brief", _Text, "What is wanted, in full: what, why, what not, how to check it."),
    ),
    make=_brief,
)
SUBMIT_SPECIFICATION = Submission(
    "submit_specification",
    "Hand in the specification. This ends your work; what is missing is told to the next attempt.",
    shape=Specification,
    parameters=(
        _parameter("title", _Title, "What is to be built, in a few words.", default=""),
        _parameter(
            "success_criteria", _Texts, "What must be true at the end, each to be checked.", default=()
        ),
        _parameter("lines_of_code", _Lines, "At most so many lines added and removed in all.", default=None),
        _parameter("acceptance_tests", _Texts, "Tests that show it, each in a sentence.", default=()),
        _parameter("risk", Risk, "How much can go wrong.", default=None),
        _parameter("notes", _Text, "What a builder should know besides.", default=""),
    ),
    make=_specification,
)
SUBMIT_PRICE = Submission(
    "submit_price",
    "Hand in what the build is going to take. This ends your work.",
    shape=Estimate,
    parameters=(
        _parameter("input_tokens", _Tokens, "Tokens that models will read, all calls together."),
        _parameter("output_tokens", _Tokens, "Tokens that models will write, all calls together."),
        _parameter("model_calls", Annotated[int, Field(ge=1, le=_MOST_CALLS)], "How many model calls."),
        _parameter("minutes", Annotated[float, Field(ge=0, le=_MOST_MINUTES)], "How many minutes."),
        _parameter("why", _Text, "What the estimate rests on.", default=""),
        _parameter("smaller_scope", _WayGiven, "The same with less in it, and its tokens.", default=None),
        _parameter("phases", _Text, "How to do it in several sessions, the first one first.", default=""),
        _parameter("simpler_approach", _WayGiven, "A simpler way to the same, and its tokens.", default=None),
    ),
    make=_estimate,
)
SUBMIT_WORK = Submission(
    "submit_work",
    "Say that this round's work is in the files, and what you did. This ends the round's building.",
    shape=Work,
    parameters=(_parameter("summary", _Text, "What you changed and why, in a few sentences."),),
    make=lambda given: Work(summary=_said(given, "summary", "submit_work")),
)
SUBMIT_VERDICTS = Submission(
    "submit_verdicts",
    "Hand in a verdict on each success criterion. This ends your work.",
    shape=Verdicts,
    parameters=(
        _parameter(
            "criteria",
            Annotated[list[_VerdictGiven], Field(max_length=MOST_ITEMS)],
            "One for each criterion, by its number: met or not, the evidence, and the test that shows it.",
        ),
    ),
    make=_verdicts,
)
SUBMIT_ISSUES = Submission(
    "submit_issues",
    "Hand in what is wrong with the change; an empty list if nothing is. This ends your work.",
    shape=Issues,
    parameters=(
        _parameter(
            "issues",
            Annotated[list[_IssueGiven], Field(max_length=MOST_ITEMS)],
            "Gravest first. Critical: wrong results, lost data, a hole, a criterion that cannot hold.",
        ),
    ),
    make=_issues,
)
SUBMIT_SIMPLIFICATION = Submission(
    "submit_simplification",
    "Say that this pass is over, and what became simpler. This ends the pass.",
    shape=Simplification,
    parameters=(_parameter("summary", _Text, "What became simpler; or that nothing could."),),
    make=lambda given: Simplification(summary=_said(given, "summary", "submit_simplification")),
)
SUBMIT_REVIEW = Submission(
    "submit_review",
    "Decide the review. This ends your work.",
    shape=ReviewGiven,
    parameters=(
        _parameter("decision", ReviewChoice, "approved, needs_changes or rejected."),
        _parameter("why", _Text, "Why; for needs_changes: what to do otherwise, said to the agent."),
    ),
    make=_review,
)


@cache
def submit_plan(most_tasks: int = DEFAULT_MOST_TASKS) -> Submission[Plan]:
    """The planner's tool. How long its list may be is the policy's to say, so its schema does not."""
    return Submission(
        "submit_plan",
        "Hand in the plan. This ends your work.",
        shape=Plan,
        parameters=(
            _parameter(
                "tasks", list[_Text], f"In their order, at most {most_tasks}, a sentence or two each."
            ),
        ),
        make=lambda given: _plan(given, most_tasks),
    )


SUBMISSIONS: Mapping[str, Submission[Any]] = MappingProxyType(
    {
        one.name: one
        for one in (
            SUBMIT_BRIEF,
            SUBMIT_SPECIFICATION,
            SUBMIT_PRICE,
            submit_plan(),
            SUBMIT_WORK,
            SUBMIT_VERDICTS,
            SUBMIT_ISSUES,
            SUBMIT_SIMPLIFICATION,
            SUBMIT_REVIEW,
        )
    }
)
"""All of them by name; the planner's with the usual number of tasks."""
