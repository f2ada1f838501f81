"""Soft and hard limits on the iterations of an unattended agent, kept across grants and resumes (D2)."""

from __future__ import annotations

from dataclasses import replace

from endstop.errors import EscalationError, IterationLimitError
from endstop.events.facts import EscalationReached
from endstop.kernel.escalation import Escalation, EscalationState, next_iteration
from endstop.kernel.limits import LimitKind
from endstop.kernel.review import hard_limit_reason
from endstop.loop.journal import Journal


class Escalating:
    """Counts the iterations of one scope: its turns. What was granted of turns raises the hard limit."""

    def __init__(self, journal: Journal, escalation: Escalation | None, scope: str) -> None:
        self._journal = journal
        self._escalation = escalation
        self._scope = scope
        self.limit_error: IterationLimitError | None = None
        """The hard limit, once it was reached: a normal ending, not a failure."""
        self._is_warned = escalation is not None and any(
            isinstance(fact.payload, EscalationReached) and fact.payload.scope == scope
            for fact in journal.recorder.facts
        )

    @property
    def is_reached(self) -> bool:
        return self.limit_error is not None

    def turn_ended(self) -> EscalationError | None:
        """Count one more iteration. Returns the failure of a handler, if one failed."""
        if self._escalation is None:
            return None
        account = self._journal.recorder.state.ledger.account(self._scope)
        hard = int(account.maximum(LimitKind.TURNS) or self._escalation.hard)
        now = replace(self._escalation, hard=max(hard, self._escalation.soft or 1))
        before = EscalationState(iteration=account.settled.turns - 1, is_warned=self._is_warned)
        failure = None
        try:
            after, self.limit_error = next_iteration(now, before)
            has_warned = after.is_warned and not before.is_warned
        except EscalationError as error:
            failure, has_warned = error, True
        if failure is None and self.limit_error is None and not has_warned:
            return None
        self._is_warned = True
        limit = failure.limit if failure is not None else self.limit_error
        self._journal.note(
            EscalationReached(
                scope=self._scope,
                key=now.key,
                limit=(now.soft or now.hard) if limit is None else limit.limit,
                iteration=before.iteration + 1,
                is_hard=limit is not None and limit.limit == now.hard,
                failure=None if failure is None else str(failure),
            )
        )
        return failure

    def why(self) -> str:
        """Why there is a review: "Maximum coding iterations (8) reached"."""
        assert self.limit_error is not None, "a hard limit was reached"
        key = self.limit_error.key
        return hard_limit_reason(key.rpartition("_")[0] or key, self.limit_error.limit)
