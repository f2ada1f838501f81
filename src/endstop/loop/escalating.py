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
        self._is_warned = escalation is not None and any(
            isinstance(fact.payload, EscalationReached) and fact.payload.scope == scope
            for fact in journal.recorder.facts
        )

    @property
    def limit_error(self) -> IterationLimitError | None:
        """The hard limit, once it is reached: a normal ending, not a failure."""
        if self._escalation is None or self._iteration < self._hard:
            return None
        return IterationLimitError(self._escalation.key, self._hard, self._iteration)

    @property
    def is_reached(self) -> bool:
        return self.limit_error is not None

    @property
    def _iteration(self) -> int:
        return self._journal.recorder.state.ledger.account(self._scope).settled.turns

    @property
    def _hard(self) -> int:
        account = self._journal.recorder.state.ledger.account(self._scope)
        assert self._escalation is not None, "there is one"
        return int(account.maximum(LimitKind.TURNS) or self._escalation.hard)

    def turn_ended(self) -> EscalationError | None:
        """Count one more iteration. Returns the failure of a handler, if one failed."""
        if self._escalation is None:
            return None
        now = replace(self._escalation, hard=max(self._hard, self._escalation.soft or 1))
        before = EscalationState(iteration=self._iteration - 1, is_warned=self._is_warned)
        failure, limit = None, None
        try:
            after, limit = next_iteration(now, before)
            has_warned = after.is_warned and not before.is_warned
        except EscalationError as error:
            failure, limit, has_warned = error, error.limit, True
        if limit is None and not has_warned:
            return None
        self._is_warned = True
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
        limit = self.limit_error
        assert limit is not None, "a hard limit was reached"
        return hard_limit_reason(limit.key.rpartition("_")[0] or limit.key, limit.limit)
