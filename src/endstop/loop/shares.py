"""A share: a part of what a run has left, for one part of its work, on top of the run's own limits.

It is measured on the run's own books, so nothing is counted twice, and it can only make things stricter.
"""

from __future__ import annotations

from decimal import Decimal

from endstop.kernel.usage import Usage
from endstop.loop.journal import Journal


class Share:
    """What may be used from the moment it is opened until it is closed."""

    def __init__(
        self,
        journal: Journal,
        scope: str,
        *,
        turns: int | None = None,
        tokens: int | None = None,
        cost_usd: Decimal | None = None,
        seconds: float | None = None,
        tool_calls: int | None = None,
    ) -> None:
        self._journal = journal
        self._scope = scope
        self._at_first = self._used()
        self._begun_at_first = self._begun()
        self._began_s = journal.now_s
        self._turns = turns
        self._tokens = tokens
        self._cost_usd = cost_usd
        self._seconds = seconds
        self._tool_calls = tool_calls
        self.is_closed = False
        self.is_too_small = False
        """What is left of it pays for no further call."""

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more may be begun on it. A turn begun on it may end; time does not wait."""
        if self.seconds_left is not None and self.seconds_left <= 0:
            return True
        if self._journal.recorder.live.scopes[self._scope].open_turns:
            return False
        lefts = (self._turns_left, self.tokens_left, self.cost_left, self.tool_calls_left)
        return self.is_too_small or any(left is not None and left <= 0 for left in lefts)

    @property
    def tokens_left(self) -> int | None:
        return None if self._tokens is None else self._tokens - (self._used().tokens - self._at_first.tokens)

    @property
    def cost_left(self) -> Decimal | None:
        if self._cost_usd is None:
            return None
        return self._cost_usd - (self._used().known_cost_usd - self._at_first.known_cost_usd)

    @property
    def seconds_left(self) -> float | None:
        return None if self._seconds is None else self._seconds - (self._journal.now_s - self._began_s)

    @property
    def tool_calls_left(self) -> int | None:
        if self._tool_calls is None:
            return None
        return self._tool_calls - (self._used().tool_calls - self._at_first.tool_calls)

    @property
    def _turns_left(self) -> int | None:
        return None if self._turns is None else self._turns - (self._begun() - self._begun_at_first)

    def close(self) -> None:
        """The part of the work has ended: what it did not use stays with the run."""
        self.is_closed = True

    def _used(self) -> Usage:
        return self._journal.recorder.usage(self._scope)

    def _begun(self) -> int:
        return self._journal.recorder.live.scopes[self._scope].turns_started
