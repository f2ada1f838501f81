"""A guarded loop, or a part of one: may it go on, and what has it used?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from types import TracebackType
from typing import Self

from endstop.errors import InvalidValueError, cause
from endstop.guard.books import Books
from endstop.guard.reviewing import Reviews
from endstop.guard.turn import Turn
from endstop.kernel.amounts import dollars
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import Meter, whole, words
from endstop.kernel.observation import AgentFinished, BudgetGranted, IterationEnded, UserSaid
from endstop.kernel.outcome import Ending, Failed, StopReason
from endstop.kernel.usage import Usage
from endstop.kernel.verdict import Stop
from endstop.kernel.views import meters


class Scope:
    """A part of a guarded run with a budget of its own, carved from what is left above it.

    What it does not use flows back when it ends. Leaving its ``with`` block ends it: as completed, or as
    failed if an exception leaves with it.
    """

    def __init__(self, books: Books, name: str, reviews: Reviews | None) -> None:
        self._books = books
        self._name = name
        self._reviews = reviews
        self._feedback: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._books.lock:
            if not self._books.is_open(self._name):
                return
            if error is not None:
                gathered = self._books.recorder.gathered(self._name) or ""
                failed = Failed(code="exception", message=cause(error), answer=gathered)
                self._books.end_with(self._name, failed)
            elif self.may_continue():
                self.finish()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def may_continue(self) -> bool:
        """Whether another turn may be taken. When it says no, ``outcome`` says how it ended."""
        with self._books.lock:
            while self._books.is_open(self._name):
                verdict = self._books.verdict(self._name)
                if not isinstance(verdict, Stop):
                    return True
                if self._books.recorder.state.scopes[self._name].open_turns:
                    return False  # others are at work in turns of their own; the last of them ends it
                if not self._goes_on_after_review(verdict.reason):
                    return False
            return False

    def turn(self, *, reserve_tokens: int = 0, reserve_cost_usd: Decimal | str | float | None = None) -> Turn:
        """The next turn, to be entered with ``with`` or ``async with``.

        Reserve the worst case of its model call: its input, plus the output you allow it.
        """
        return Turn(
            self._books,
            self._name,
            reserve_tokens=reserve_tokens,
            reserve_cost_usd=reserve_cost_usd,
            take_feedback=self._take_feedback,
        )

    def scope(
        self,
        name: str | None = None,
        *,
        turns: int | None = None,
        tokens: int | None = None,
        cost_usd: Decimal | str | float | None = None,
        seconds: float | None = None,
        model_calls: int | None = None,
        tool_calls_per_turn: int | None = None,
        warn_at: Mapping[str, float | None] | None = None,
    ) -> Scope:
        """Open a part with a budget of its own: at most this much, and no more than is left here."""
        budget = Budget(
            turns=turns,
            tokens=tokens,
            cost_usd=cost_usd,
            seconds=seconds,
            model_calls=model_calls,
            tool_calls_per_turn=tool_calls_per_turn,
            warn_at=warn_at or {},
        )
        with self._books.lock:
            self._books.require_open(self._name)
            own = self._books.next_scope_name() if name is None else words("name", name)
            self._books.open_scope(own, self._name, budget)
        return Scope(self._books, own, None)

    @property
    def open_scopes(self) -> tuple[Scope, ...]:
        """The parts directly below that are open: after a resume, those that the dead process had open."""
        names = self._books.recorder.state.ledger.children(self._name)
        return tuple(Scope(self._books, name, None) for name in names)

    @property
    def name(self) -> str:
        """ "run" for the run itself."""
        return self._name

    def finish(self, answer: str = "") -> None:
        """The work is done: end it as completed. Outside of a turn; inside, use ``turn.finished``."""
        words("answer", answer, may_be_empty=True)
        with self._books.lock:
            self._books.require_open(self._name)
            self._books.observe(lambda at_s: AgentFinished(at_s=at_s, scope=self._name, answer=answer))
            self.may_continue()

    def user_said(self, text: str = "") -> None:
        """The user wrote something: what repeats is counted anew from here."""
        words("text", text, may_be_empty=True)
        with self._books.lock:
            self._books.require_open(self._name)
            self._books.observe(lambda at_s: UserSaid(at_s=at_s, scope=self._name, text=text))

    def iteration_ended(
        self,
        *,
        issues: Iterable[str] = (),
        failing_tests: int = 0,
        lines_of_code: int | None = None,
        cost_usd: Decimal | str | float | None = None,
    ) -> None:
        """A round of iterating work is over; this is how it stands. Rounds that change nothing are found."""
        cost = None if cost_usd is None else dollars("cost_usd", cost_usd)
        whole("failing_tests", failing_tests, smallest=0, largest=10**9)
        if lines_of_code is not None:
            whole("lines_of_code", lines_of_code, smallest=0, largest=10**9)
        found = tuple(words("issues", issue) for issue in issues)
        with self._books.lock:
            self._books.require_open(self._name)
            ended = self._books.next_iteration(self._name)
            self._books.observe(
                lambda at_s: IterationEnded(
                    at_s=at_s,
                    scope=self._name,
                    iteration=ended,
                    issues=found,
                    failing_tests=failing_tests,
                    lines_of_code=lines_of_code,
                    cost_usd=cost,
                )
            )

    def grant(self, grant: Grant) -> None:
        """Add to the budget while the run is open. For a scope, only what is left above it."""
        if not isinstance(grant, Grant):  # pyright: ignore[reportUnnecessaryIsInstance] - callers' code
            raise InvalidValueError("grant", grant, allowed="a Grant, such as Grant(turns=10, by=…, why=…)")
        with self._books.lock:
            self._books.require_open(self._name)
            self._books.observe(lambda at_s: BudgetGranted(at_s=at_s, scope=self._name, grant=grant))

    def waiting(self, why: str = "") -> AbstractContextManager[None]:
        """``with guard.waiting("asking the user"):`` time in here is not charged."""
        return self._books.waiting(words("why", why, may_be_empty=True))

    @property
    def outcome(self) -> Ending | None:
        """How it ended; None while it has not."""
        return self._books.recorder.endings.get(self._name)

    @property
    def usage(self) -> Usage:
        """What was used in here, the parts that are closed included."""
        return self._books.recorder.usage(self._name)

    @property
    def meters(self) -> tuple[Meter, ...]:
        """Every limit that binds here, with what is used of it."""
        if self._name not in self._books.recorder.state.scopes:
            self._books.require_open(self._name)
        return meters(self._books.recorder.state, self._name)

    def _take_feedback(self) -> tuple[str, ...]:
        """What a reviewer wants the agent to know: for the next turn that is really taken, once."""
        feedback, self._feedback = self._feedback, ()
        return feedback

    def _goes_on_after_review(self, reason: StopReason) -> bool:
        """Have a stop reviewed, if anybody wants to; end for the reason if it stands."""
        if self._reviews is not None and self._name == ROOT:
            feedback = self._reviews.ask(self._name, reason)
            if feedback is not None:
                self._feedback += feedback
                return True
            if not self._books.is_open(self._name):
                return False
        self._books.end(self._name, reason)
        return False
