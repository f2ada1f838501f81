"""Reviews in the record: opened when a limit would end a run, and carried out when somebody has decided.

The rules are the kernel's (``kernel.review``); here they are entered, the same way for every driver.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from endstop.errors import EndstopError
from endstop.events.facts import Fact, ReviewDecided, ReviewRequested
from endstop.events.recorder import Recorder
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import BudgetGranted, UserSaid
from endstop.kernel.outcome import Abandoned, StopReason, StopRule
from endstop.kernel.review import (
    NO_REVIEWS,
    Approved,
    NeedsChanges,
    Rejected,
    Review,
    ReviewDecision,
    ReviewHistory,
)

_NOT_REVIEWED = frozenset(
    {
        StopRule.CANCELLED,
        StopRule.FINISHED,
        StopRule.PRICE_UNKNOWN,
        StopRule.POLICY,
        StopRule.POLICY_ERROR,
        StopRule.PARENT,
    }
)


def is_reviewable(reason: StopReason) -> bool:
    """Whether a stop is one that more budget could call off."""
    return reason.rule not in _NOT_REVIEWED


def review_history(facts: Iterable[Fact]) -> ReviewHistory:
    """How the reviews of a run went so far."""
    history = NO_REVIEWS
    for fact in facts:
        if isinstance(fact.payload, ReviewDecided):
            history = history.after(fact.payload.decision)
    return history


def open_review(facts: Iterable[Fact]) -> Review | None:
    """The review that nobody has decided yet, if there is one."""
    waiting = open_request(facts)
    return None if waiting is None else waiting.review


def open_request(facts: Iterable[Fact]) -> ReviewRequested | None:
    """The same, with the part of the run that it is about."""
    waiting: ReviewRequested | None = None
    for fact in facts:
        if isinstance(fact.payload, ReviewRequested):
            waiting = fact.payload
        elif isinstance(fact.payload, ReviewDecided):
            waiting = None
    return waiting


def request_review(
    recorder: Recorder, history: ReviewHistory, why: str, *, time: float, scope: str = ROOT
) -> Review:
    """Record that somebody is asked to decide."""
    own = recorder.state.scopes[scope]
    review = history.open(
        id=f"review:{history.decided + 1}",
        why=why,
        doing=", ".join(own.recent_actions),
        spent=str(recorder.usage(scope)),
        findings=own.findings,
    )
    recorder.note(ReviewRequested(scope=scope, review=review), time=time)
    return review


def carry_out(
    recorder: Recorder,
    review: Review,
    decision: ReviewDecision,
    *,
    at_s: float,
    time: float,
    scope: str = ROOT,
) -> ReviewDecision:
    """Record a decision and do what it says: grant, hand on the feedback, or end as abandoned.

    Returns the decision that counts: a grant past its cap is a rejection, whatever the reviewer wanted.
    """
    at_s = max(at_s, recorder.state.now_s)
    if not isinstance(decision, Rejected):
        try:
            recorder.observe(BudgetGranted(at_s=at_s, scope=scope, grant=decision.grant), time=time)
        except EndstopError as error:
            decision = Rejected(by="endstop", why=str(error))
    by = decided_by(decision)
    recorder.note(ReviewDecided(scope=scope, review_id=review.id, decision=decision, by=by), time=time)
    match decision:
        case NeedsChanges(feedback=feedback):
            recorder.observe(UserSaid(at_s=at_s, scope=scope, text=feedback), time=time)
        case Rejected(why=why):
            abandoned = Abandoned(
                reason=f"{review.why} The review by {by} rejected going on: {why}",
                suggestion="The work so far is in the record.",
            )
            recorder.end_with(abandoned, at_s=at_s, time=time, scope=scope)
        case Approved():
            pass
        case _:
            assert_never(decision)
    return decision


def withdraw_review(recorder: Recorder, *, by: str, time: float) -> None:
    """Close the review that waits, if one does: the run was cancelled, and nobody is asked any more."""
    waiting = open_request(recorder.facts)
    if waiting is not None:
        rejected = Rejected(by=by, why="The run was cancelled.")
        decided = ReviewDecided(scope=waiting.scope, review_id=waiting.review.id, decision=rejected, by=by)
        recorder.note(decided, time=time)


def decided_by(decision: ReviewDecision) -> str:
    match decision:
        case Approved(grant=grant) | NeedsChanges(grant=grant):
            return grant.by
        case Rejected(by=by):
            return by
        case _:
            assert_never(decision)
