"""What the roles of a session hand in, once it is read. What goes into the record as it is, is in events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from endstop.events.coding import Issue


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What the interviewer learnt from the user."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Another way to go about it, and what it would take."""

    what: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the build is going to take, as the pricer sees it, without contingency."""

    input_tokens: int
    output_tokens: int
    model_calls: int
    minutes: float
    why: str = ""
    smaller_scope: Way | None = None
    phases: str = ""
    simpler_approach: Way | None = None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the build is going to do, task by task."""

    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the builder says it did."""

    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionVerdict:
    """What the tester says of one success criterion, known by its number, from 1."""

    number: int
    is_met: bool
    evidence: str = ""
    test: str | None = None
    """The test that shows it, if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What the tester says of the success criteria."""

    criteria: tuple[CriterionVerdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issues:
    """What the critic found, in the critic's own order."""

    issues: tuple[Issue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simplification:
    """What the simplifier says it made simpler."""

    summary: str


class ReviewChoice(StrEnum):
    """What a reviewer agent can decide (D4)."""

    APPROVED = "approved"
    NEEDS_CHANGES = "needs_changes"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewGiven:
    """What a reviewer agent decided, and why; to the agent under review the why is feedback."""

    decision: ReviewChoice
    why: str
