"""When a limit would end a guarded run: somebody may grant more (D3 to D5)."""

from __future__ import annotations

from endstop.errors import brief, cause
from endstop.events.reviewing import carry_out, is_reviewable, request_review, review_history
from endstop.guard.books import Books, Reviewer
from endstop.kernel.outcome import StopReason
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review, ReviewDecision


class Reviews:
    """The reviews of one guarded run."""

    def __init__(self, books: Books, reviewer: Reviewer) -> None:
        self._books = books
        self._reviewer = reviewer
        self._history = review_history(books.recorder.facts)

    def ask(self, scope: str, reason: StopReason) -> tuple[str, ...] | None:
        """Have a stop reviewed. Feedback for the agent if it goes on (often none); None if it does not."""
        if not is_reviewable(reason):
            return None
        books = self._books
        review = request_review(books.recorder, self._history, reason.message, time=books.unix_s, scope=scope)
        with books.waiting(review.why):
            decision = self._history.automatic_decision or self._decided(review)
        self._history = self._history.after(decision)
        decision = carry_out(
            books.recorder, review, decision, at_s=books.now_s, time=books.unix_s, scope=scope
        )
        match decision:
            case Rejected():
                return None
            case NeedsChanges(feedback=feedback):
                return (feedback,)
            case Approved():
                return ()

    def _decided(self, review: Review) -> ReviewDecision:
        try:
            decision = self._reviewer(review)
        except Exception as error:  # noqa: BLE001 - a reviewer is not trusted; its failure is a rejection
            return Rejected(by="endstop", why=f"The reviewer failed: {cause(error)}")
        if isinstance(decision, Approved | NeedsChanges | Rejected):  # pyright: ignore[reportUnnecessaryIsInstance]
            return decision
        why = f"The reviewer answered {brief(decision)}, not Approved, NeedsChanges or Rejected"
        return Rejected(by="endstop", why=why)
