"""When a limit would end a guarded run: somebody may grant more (D3 to D5)."""

from __future__ import annotations

from endstop.errors import EndstopError, brief, cause
from endstop.events.facts import ReviewDecided, ReviewRequested
from endstop.guard.books import Books, Reviewer
from endstop.kernel.observation import BudgetGranted, UserSaid
from endstop.kernel.outcome import Abandoned, StopReason, StopRule
from endstop.kernel.review import (
    NO_REVIEWS,
    Approved,
    NeedsChanges,
    Rejected,
    Review,
    ReviewDecision,
)

_NOT_REVIEWED = frozenset(
    {
        StopRule.CANCELLED,
        StopRule.FINISHED,
        StopRule.PRICE_UNKNOWN,
        StopRule.POLICY,
        StopRule.POLICY_ERROR,
    }
)


class Reviews:
    """The reviews of one guarded run."""

    def __init__(self, books: Books, reviewer: Reviewer) -> None:
        self._books = books
        self._reviewer = reviewer
        self._history = NO_REVIEWS
        for fact in books.recorder.facts:
            if isinstance(fact.payload, ReviewDecided):
                self._history = self._history.after(fact.payload.decision)

    def ask(self, scope: str, reason: StopReason) -> tuple[str, ...] | None:
        """Have a stop reviewed. Feedback for the agent if it goes on (often none); None if it does not."""
        if reason.rule in _NOT_REVIEWED:
            return None
        review = self._history.open(
            id=f"review:{self._history.decided + 1}",
            why=reason.message,
            doing=", ".join(self._books.recorder.state.scopes[scope].recent_actions),
            spent=str(self._books.recorder.usage(scope)),
            findings=self._books.recorder.state.scopes[scope].findings,
        )
        self._books.note(ReviewRequested(scope=scope, review=review))
        with self._books.waiting(review.why):
            decision, by = self._decided(review)
        return self._carried_out(scope, review, decision, by)

    def _decided(self, review: Review) -> tuple[ReviewDecision, str]:
        automatic = self._history.automatic_decision
        if automatic is not None:
            return automatic, automatic.by
        try:
            decision: object = self._reviewer(review)
        except Exception as error:  # noqa: BLE001 - a reviewer is not trusted; its failure is a rejection
            return Rejected(by="endstop", why=f"The reviewer failed: {cause(error)}"), "endstop"
        match decision:
            case Approved(grant=grant) | NeedsChanges(grant=grant):
                return decision, grant.by
            case Rejected(by=by):
                return decision, by
            case _:  # pyright: ignore[reportUnnecessaryComparison] - a reviewer is not trusted
                why = f"The reviewer answered {brief(decision)}, not Approved, NeedsChanges or Rejected"
                return Rejected(by="endstop", why=why), "endstop"

    def _carried_out(
        self, scope: str, review: Review, decision: ReviewDecision, by: str
    ) -> tuple[str, ...] | None:
        self._history = self._history.after(decision)
        feedback: tuple[str, ...] = ()
        if not isinstance(decision, Rejected):
            grant = decision.grant
            try:
                self._books.observe(lambda at_s: BudgetGranted(at_s=at_s, scope=scope, grant=grant))
            except EndstopError as error:
                decision, by = Rejected(by="endstop", why=str(error)), "endstop"
        self._books.note(ReviewDecided(scope=scope, review_id=review.id, decision=decision, by=by))
        if isinstance(decision, Rejected):
            abandoned = Abandoned(
                reason=f"{review.why} The review by {decision.by} rejected going on: {decision.why}",
                suggestion="The work so far is in the record.",
            )
            self._books.end_with(scope, abandoned)
            return None
        if isinstance(decision, NeedsChanges):
            feedback = (decision.feedback,)
            text = decision.feedback
            self._books.observe(lambda at_s: UserSaid(at_s=at_s, scope=scope, text=text))
        return feedback
