"""Budget review in the loop: decided by a reviewer agent at once, or by a person, for whom it pauses (D3)."""

from __future__ import annotations

from endstop.events.reviewing import carry_out, request_review, review_history, withdraw_review
from endstop.kernel.observation import RunPaused, RunResumed
from endstop.kernel.outcome import Outcome, UnderReview
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review, ReviewDecision
from endstop.loop.agent import Agent
from endstop.loop.bounded import Overseer
from endstop.loop.journal import Journal

REVIEWER_TIMEOUT_S = 300.0


class Reviews:
    """The reviews of one run, or of a part of it that may pause the run."""

    def __init__(self, journal: Journal, agent: Agent, overseer: Overseer, scope: str) -> None:
        self._journal = journal
        self._agent = agent
        self._overseer = overseer
        self._scope = scope
        self._reviewed_turns: int | None = None

    async def ask(self, why: str) -> tuple[Outcome | None, tuple[str, ...]]:
        """Have a stop reviewed. The outcome, or None if the run goes on; and feedback for the agent."""
        journal = self._journal
        history = review_history(journal.recorder.facts)
        review = request_review(journal.recorder, history, why, time=journal.unix_s, scope=self._scope)
        journal.enter(RunPaused(at_s=journal.now_s, why=review.why))
        await journal.flush()
        turns = journal.recorder.state.scopes[self._scope].turns_started
        may_ask_agent = turns != self._reviewed_turns  # else its last decision has changed nothing
        self._reviewed_turns = turns
        decision = history.automatic_decision or (await self._decided(review) if may_ask_agent else None)
        cancelled_by = journal.recorder.state.cancelled_by
        if decision is None and cancelled_by is None:
            return UnderReview(review=review), ()
        journal.enter(RunResumed(at_s=journal.now_s))
        if decision is None:
            withdraw_review(journal.recorder, by=cancelled_by or "", time=journal.unix_s)
            return None, ()
        decision = carry_out(
            journal.recorder, review, decision, at_s=journal.now_s, time=journal.unix_s, scope=self._scope
        )
        match decision:
            case Approved():
                return None, ()
            case NeedsChanges(feedback=feedback):
                return None, (feedback,)
            case Rejected():
                return journal.recorder.endings[self._scope], ()

    async def _decided(self, review: Review) -> ReviewDecision | None:
        """What the reviewer agent decides; None if there is none, or if it fails: then a person decides."""
        reviewer = self._agent.reviewer
        if reviewer is None:
            return None
        decided: list[object] = []

        async def ask() -> None:
            try:
                decided.append(await reviewer(review))
            except Exception:  # noqa: BLE001 - a reviewer is not trusted; without its word a person decides
                decided.clear()

        await self._overseer.run_beside(ask(), seconds=REVIEWER_TIMEOUT_S)
        decision = decided[0] if decided else None
        return decision if isinstance(decision, Approved | NeedsChanges | Rejected) else None
