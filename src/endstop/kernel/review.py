"""Budget reviews: a run that met a hard limit waits for somebody to decide (D3 to D5).

Reviewers are too kind. Asking for changes three times in a row puts a warning into the next review; after
six in a row the next review is rejected without asking. Approvals are capped by the cap on grants.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from endstop.errors import InvalidValueError
from endstop.kernel.budget import Grant
from endstop.kernel.finding import Finding

KINDNESS_WARNING_AT = 3
KINDNESS_REJECTION_AT = 6


class RunPhase(StrEnum):
    """Where a run stands, as people know it."""

    RUNNING = "RUNNING"
    BUDGET_REVIEW = "BUDGET_REVIEW"
    AWAIT_USER = "AWAIT_USER"
    ENDED = "ENDED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What somebody is asked to decide."""

    id: str
    why: str
    """Such as "Maximum coding iterations (8) reached"."""
    doing: str = ""
    """What the run was doing."""
    spent: str = ""
    """What it has used so far, in words."""
    findings: tuple[Finding, ...] = ()
    origin: str = RunPhase.RUNNING.value
    """The state the run goes back to when it is approved."""
    changes_asked_in_a_row: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """Go on, with more budget."""

    grant: Grant


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsChanges:
    """Go on with more budget, but otherwise: the feedback goes to the agent."""

    feedback: str
    grant: Grant

    def __post_init__(self) -> None:
        if not isinstance(self.feedback, str) or not self.feedback.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValueError(
                "feedback",
                self.feedback,
                allowed="some words for the agent",
                to_do="Say what it should do otherwise, or approve or reject instead",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """End as abandoned, with the work saved."""

    by: str
    why: str


ReviewDecision: TypeAlias = Approved | NeedsChanges | Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewHistory:
    """How the reviews of one run went: all that the rules need to know of it."""

    changes_asked_in_a_row: int = 0
    decided: int = 0

    def after(self, decision: ReviewDecision) -> ReviewHistory:
        return ReviewHistory(
            changes_asked_in_a_row=self.changes_asked_in_a_row + 1
            if isinstance(decision, NeedsChanges)
            else 0,
            decided=self.decided + 1,
        )

    def open(
        self,
        *,
        id: str,  # noqa: A002 - the word for it everywhere else
        why: str,
        doing: str = "",
        spent: str = "",
        findings: tuple[Finding, ...] = (),
        origin: str = RunPhase.RUNNING.value,
    ) -> Review:
        """The next review, with what this history has to say about it."""
        return Review(
            id=id,
            why=why,
            doing=doing,
            spent=spent,
            findings=findings,
            origin=origin,
            changes_asked_in_a_row=self.changes_asked_in_a_row,
            warnings=self.warnings,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the next review must say about its own history."""
        if self.changes_asked_in_a_row < KINDNESS_WARNING_AT:
            return ()
        return (
            f"Changes were asked for {self.changes_asked_in_a_row} times in a row and did not end it. "
            f"After {KINDNESS_REJECTION_AT} the run is rejected without asking.",
        )

    @property
    def automatic_decision(self) -> Rejected | None:
        """The decision that is taken without asking, if it has come to that."""
        if self.changes_asked_in_a_row < KINDNESS_REJECTION_AT:
            return None
        return Rejected(
            by="endstop",
            why=f"Changes were asked for {self.changes_asked_in_a_row} times in a row without an end",
        )


NO_REVIEWS = ReviewHistory()


def hard_limit_reason(key: str, limit: int) -> str:
    """Why a review was opened: "Maximum coding iterations (8) reached"."""
    return f"Maximum {key} iterations ({limit}) reached"
