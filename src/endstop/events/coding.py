"""What a coding session leaves in its record: specified, priced, built round by round (section G). All notes.

Rounds, attempts and cycles count from 1, as people do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias


class Risk(StrEnum):
    """How much can go wrong."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Gravity(StrEnum):
    """How grave an issue is, gravest first. Only critical ones keep a session from being done."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"


class PriceVerdict(StrEnum):
    """What the policy says to a price (G2)."""

    APPROVED = "approved"
    """Under the threshold below which nobody is asked."""
    ASK = "ask"
    REJECTED = "rejected"


class PriceChoice(StrEnum):
    """What was decided about a price."""

    APPROVED = "approved"
    ALTERNATIVE = "alternative"
    REJECTED = "rejected"


class AlternativeKind(StrEnum):
    """What can be done instead of paying a price that was rejected (G2)."""

    SMALLER_SCOPE = "smaller_scope"
    PHASES = "phases"
    SIMPLER_APPROACH = "simpler_approach"


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """What is to be built. Complete when the four below the title are there (G1)."""

    title: str = ""
    success_criteria: tuple[str, ...] = ()
    lines_of_code: int | None = None
    """How many lines may be added and removed in all."""
    acceptance_tests: tuple[str, ...] = ()
    risk: Risk | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A cheaper way to go about it, to be chosen in place of a price that was rejected."""

    kind: AlternativeKind
    what: str
    price_usd: Decimal | None = None
    """None when nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """Something a critic found."""

    gravity: Gravity
    title: str
    file: str = ""
    line: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """A success criterion, whether it is met, and what shows it (G9)."""

    text: str
    is_met: bool
    evidence: str = ""
    is_verified: bool = False
    """The evidence is a test that really ran and passed, not an agent's word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOpened:
    """The session has its place to work: a worktree of its own, on a branch of its own (G8)."""

    repository: str
    base: str
    """The commit it starts from."""
    branch: str
    worktree: str
    test_command: str
    confinement: str
    """How commands are confined, in words."""
    policy: str
    """As JSON text: the session keeps to it, whatever becomes of its file."""
    asks_user: bool = True
    yes_under_usd: Decimal | None = None
    """A price up to this is approved without asking, whatever the policy says."""
    concerns: tuple[str, ...] = ()
    """What is unusual about the repository, and was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interviewed:
    """What the product manager learnt from the user."""

    brief: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecificationGiven:
    """One attempt at a specification, and what it lacks (G1)."""

    cycle: int
    attempt: int
    specification: Specification
    lacking: tuple[str, ...] = ()
    """Empty when it is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceGiven:
    """What the build is going to cost at most, and what the policy says to that (G2)."""

    cycle: int
    price_usd: Decimal | None
    """None when nobody knows what the model costs."""
    tokens: int
    model_calls: int
    minutes: float
    why: str
    verdict: PriceVerdict
    alternatives: tuple[Alternative, ...] = ()
    """Only for a price that was rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceDecided:
    """What was decided about a price, and by whom."""

    cycle: int
    choice: PriceChoice
    by: str
    alternative: Alternative | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGiven:
    """What the build is going to do."""

    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsRun:
    """The project's own tests, really run."""

    __test__ = False  # not for pytest to collect

    round: int
    after: str
    """``building`` or ``simplifying 1``."""
    command: str
    exit_code: int
    seconds: float
    passed: int | None = None
    """None when the output does not tell."""
    failed: int | None = None
    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    """The first few hundred, for evidence to rest on."""
    timed_out: bool = False
    output: str = ""
    """Its end."""

    @property
    def are_green(self) -> bool:
        return self.exit_code == 0 and not self.timed_out

    @property
    def failures(self) -> int:
        """How many tests fail; one at least if they are not green."""
        return 0 if self.are_green else max(self.failed or 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CriteriaJudged:
    """How the success criteria stand after a round."""

    round: int
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuesFound:
    """What the critic found in a round, as far as it counts there (G5)."""

    round: int
    issues: tuple[Issue, ...]
    left_out: int = 0
    """So many more were too many, or not grave enough for so late a round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimplifyingEnded:
    """One pass of reflexion over a round's work (G5)."""

    round: int
    number: int
    lines_before: int
    lines_after: int
    is_kept: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEnded:
    """A round is over, and its work is a commit (G8)."""

    round: int
    commit: str
    files: int
    added: int
    removed: int
    """Lines since the base, by ``git diff --numstat``."""
    open_issues: tuple[str, ...] = ()
    """What still has to be done: failing tests, criteria not met, critical issues."""
    failing_tests: int = 0
    cost_usd: Decimal | None = None
    """What this round has cost; None when nobody knows."""
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConcluded:
    """How the session stands at its end. The ending itself follows (G7)."""

    kind: str
    """``succeeded``, ``succeeded_with_warnings``, ``abandoned``, ``session_timeout``, ``session_exhausted``,
    ``budget_exhausted``, ``token_limit``, ``stuck``, ``cancelled``."""
    suggestion: str = ""
    next_steps: tuple[str, ...] = ()
    checkpoint: str | None = None
    """The commit that holds all work."""
    criteria: tuple[Criterion, ...] = ()
    """What "done" rests on: success criteria, tests, critical issues, budget, each with its evidence (G9)."""


CodingNote: TypeAlias = (
    SessionOpened
    | Interviewed
    | SpecificationGiven
    | PriceGiven
    | PriceDecided
    | PlanGiven
    | TestsRun
    | CriteriaJudged
    | IssuesFound
    | SimplifyingEnded
    | RoundEnded
    | SessionConcluded
)
CODING_FACTS: Mapping[str, type[CodingNote]] = MappingProxyType(
    {
        "coding.opened": SessionOpened,
        "coding.interviewed": Interviewed,
        "coding.specified": SpecificationGiven,
        "coding.priced": PriceGiven,
        "coding.price_decided": PriceDecided,
        "coding.planned": PlanGiven,
        "coding.tested": TestsRun,
        "coding.judged": CriteriaJudged,
        "coding.criticised": IssuesFound,
        "coding.simplified": SimplifyingEnded,
        "coding.round_ended": RoundEnded,
        "coding.concluded": SessionConcluded,
    }
)
