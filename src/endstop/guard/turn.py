"""One turn of somebody else's loop: a model call and its tool calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType, TracebackType

from endstop.errors import ClosedAccountError, NotEnoughLeftError, ObservationError, brief
from endstop.guard.books import Books
from endstop.guard.calls import Calls
from endstop.guard.reply import Reply
from endstop.kernel.amounts import NOTHING, Amounts, dollars
from endstop.kernel.limits import LimitKind, whole, words
from endstop.kernel.observation import (
    AgentFinished,
    CallReserved,
    CallSettled,
    CallStatus,
    ContextMeasured,
    TurnEnded,
    TurnStarted,
)
from endstop.kernel.outcome import StopReason
from endstop.kernel.verdict import LastTurn, Stop
from endstop.signals import Signal

_MOST = 10**12

MOST_RESULT_CHARS = 100_000
"""A result that is no text is recorded as it shows itself, up to this length."""

NO_ARGUMENTS: Mapping[str, object] = MappingProxyType({})


class Turn:
    """Enter it with ``with`` or ``async with``; tell it what was spent, said and called.

    Reserves the worst case on entering, settles on leaving: a turn that tells no usage, because it raised or
    was cut off, is settled at what it had reserved, never at zero.
    """

    def __init__(
        self,
        books: Books,
        scope: str,
        *,
        reserve_tokens: int,
        reserve_cost_usd: Decimal | str | float | None,
        take_feedback: Callable[[], tuple[str, ...]],
    ) -> None:
        whole("reserve_tokens", reserve_tokens, smallest=0, largest=_MOST)
        cost = Decimal(0) if reserve_cost_usd is None else dollars("reserve_cost_usd", reserve_cost_usd)
        self._books = books
        self._scope = scope
        self._asked = Amounts(model_calls=1, tokens=reserve_tokens, cost_usd=cost)
        self._reserved = NOTHING
        self._take_feedback = take_feedback
        self._reply = Reply(books, scope)
        self._calls = Calls(books, scope)
        self._number: int | None = None
        self._is_over = False
        self._settlements = 0
        self._closing: LimitKind | None = None
        self._hints: tuple[str, ...] = ()

    def __enter__(self) -> Turn:
        with self._books.lock:
            self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._books.lock:
            self._end()

    async def __aenter__(self) -> Turn:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    @property
    def number(self) -> int:
        """Counts from 0: the number of turns taken before this one."""
        if self._number is None:
            raise ObservationError("This turn was not entered", to_do="Enter it with `with guard.turn():`")
        return self._number

    @property
    def is_last(self) -> bool:
        """This is the closing turn: give the model no tools, and let it write the best answer it can."""
        return self._closing is not None

    @property
    def hint(self) -> str | None:
        """What to tell the model now: wrap up, last turn, try otherwise. After all tool results, please."""
        return "\n".join(self._hints) or None

    @property
    def max_tokens(self) -> int | None:
        """The most this turn's call may use, input and output, so that the budget holds. None: no limit."""
        left = self._books.recorder.state.ledger.left(self._scope, LimitKind.TOKENS, closing=self.is_last)
        if left is None:
            return None
        return self._reserved.tokens if self._asked.tokens else int(left)

    @property
    def seconds_left(self) -> float | None:
        """How long this turn may still take: pass it on as a time-out. None: no time limit."""
        return self._books.seconds_left(self._scope)

    @property
    def must_stop(self) -> StopReason | None:
        """Why the turn should be cut short, if it should: a cancellation, time, a loop inside the turn."""
        verdict = self._books.verdict(self._scope)
        return verdict.reason if isinstance(verdict, Stop) else None

    @property
    def signal(self) -> Signal | None:
        """What the model signalled in this turn, once ``said`` has read it."""
        return self._reply.signal

    def spent(
        self,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost_usd: Decimal | str | float | None = None,
    ) -> None:
        """What the model call really used. Leave ``cost_usd`` out when it is unknown; zero means free."""
        whole("input_tokens", input_tokens, smallest=0, largest=_MOST)
        whole("output_tokens", output_tokens, smallest=0, largest=_MOST)
        cost = None if cost_usd is None else dollars("cost_usd", cost_usd)
        with self._books.lock:
            turn = self._require_open()
            is_first = self._settlements == 0
            is_estimate = cost is None and is_first and self._reserved.cost_usd > 0
            if not is_first:
                self._reserve(turn, NOTHING)  # a further report needs a reservation; it is topped up
            self._settle(
                turn,
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                cost_usd=self._reserved.cost_usd if is_estimate else cost,
                model_calls=1 if is_first else 0,
                is_estimate=is_estimate,
            )

    def streamed(self, chunk: str) -> str:
        """The next piece of a reply that streams. Returns what a user may see of it by now.

        A reply that says one chunk of text over and over is found here: then ``must_stop`` says so. Call
        ``said()`` when the reply is complete.
        """
        words("chunk", chunk, may_be_empty=True)
        with self._books.lock:
            return self._reply.streamed(self._require_open(), chunk)

    def said(self, text: str | None = None) -> str:
        """The model's text; left out, all that was ``streamed``. Returns it without its signals."""
        if text is not None:
            words("text", text, may_be_empty=True)
        with self._books.lock:
            return self._reply.said(self._require_open(), text)

    def refusal(self, tool: str, arguments: object = NO_ARGUMENTS) -> str | None:
        """Ask before running a tool: None if it may run, else what to tell the model instead.

        A refused call is recorded with its result: do not report it with ``called`` again.
        """
        words("tool", tool)
        with self._books.lock:
            turn = self._require_open()
            return self._calls.refusal(turn, tool, arguments, is_last_turn=self.is_last)

    def called(
        self,
        tool: str,
        arguments: object = NO_ARGUMENTS,
        *,
        ok: bool = True,
        result: object = "",
        waiting: bool = False,
        cursor: bool = False,
        changes_something: bool = False,
    ) -> None:
        """A tool call and its result.

        ``ok=False``: the tool failed to do its job; ``result`` is then the error. ``waiting``: it says that
        it still waits for a long process. ``cursor``: repeating it is how it works, as with ``next_page``.
        ``changes_something``: it has effects, so what failed before may now work.
        """
        words("tool", tool)
        with self._books.lock:
            self._calls.answered(
                self._require_open(),
                tool,
                arguments,
                status=CallStatus.EXECUTED if ok else CallStatus.FAILED,
                result=result if isinstance(result, str) else brief(result, most=MOST_RESULT_CHARS),
                is_waiting=waiting,
                is_cursor=cursor,
                changes_something=changes_something,
            )

    def measured_context(self, tokens: int) -> None:
        """How large the context of the model call is, for a budget that limits it."""
        with self._books.lock:
            self._require_open()
            self._books.enter(ContextMeasured(at_s=self._books.now_s, scope=self._scope, tokens=tokens))

    def finished(self, answer: str = "") -> None:
        """The model is done by itself: the loop ends after this turn. Its answer: by default what it said."""
        words("answer", answer, may_be_empty=True)
        with self._books.lock:
            self._require_open()
            self._books.enter(AgentFinished(at_s=self._books.now_s, scope=self._scope, answer=answer))

    def _begin(self) -> None:
        if self._number is not None:
            raise ObservationError("This turn was entered before", to_do="Take a new one with guard.turn()")
        self._books.require_open(self._scope)
        verdict = self._books.verdict(self._scope)
        if isinstance(verdict, Stop):
            raise ClosedAccountError(
                f"The run may not take another turn: {verdict.reason.message}",
                to_do="Ask may_continue() before each turn; it says no here, and records why",
            )
        self._closing = verdict.limit if isinstance(verdict, LastTurn) else None
        self._reserved = self._fitting()
        number = self._books.recorder.state.scopes[self._scope].turns_started
        started = TurnStarted(at_s=self._books.now_s, scope=self._scope, turn=number, closing=self._closing)
        self._hints = (*self._take_feedback(), *self._books.enter(started).hints)
        self._number = number
        self._reserve(number, self._reserved)

    def _fitting(self) -> Amounts:
        """What can be reserved of what was asked for; an error if others at work hold all there is.

        What is only there with the finish reserve makes this the last turn.
        """
        ledger = self._books.recorder.state.ledger
        fitting = ledger.fit(self._scope, self._asked, closing=self.is_last)
        if fitting != self._asked and not self.is_last:
            self._closing = next((kind for kind in _CLOSING if fitting.of(kind) < self._asked.of(kind)), None)
            fitting = ledger.fit(self._scope, self._asked, closing=self.is_last)
        turn_left = ledger.left(self._scope, LimitKind.TURNS, closing=self.is_last)
        if turn_left == 0 or any(self._asked.of(kind) and not fitting.of(kind) for kind in _NEEDED):
            raise NotEnoughLeftError(
                "Nothing is left beside what turns and scopes under way hold",
                to_do="Let those that run at the same time end first",
            )
        return fitting

    def _end(self) -> None:
        turn = self._require_open()
        self._is_over = True
        if not self._books.is_open(self._scope):
            return  # the run was ended from within the turn; that has settled everything
        self._reply.cut_off(turn)
        if self._settlements == 0:
            self._settle(
                turn,
                input_tokens=self._reserved.tokens,
                cost_usd=self._reserved.cost_usd or None,
                model_calls=1,
                is_estimate=True,
            )
        self._books.enter(TurnEnded(at_s=self._books.now_s, scope=self._scope, turn=turn))

    def _reserve(self, turn: int, amounts: Amounts) -> None:
        self._books.enter(
            CallReserved(
                at_s=self._books.now_s,
                scope=self._scope,
                turn=turn,
                reservation=f"call:{turn}.{self._settlements}",
                amounts=amounts,
                closing=self.is_last,
            )
        )

    def _settle(
        self,
        turn: int,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost_usd: Decimal | None,
        model_calls: int,
        is_estimate: bool,
    ) -> None:
        self._books.enter(
            CallSettled(
                at_s=self._books.now_s,
                scope=self._scope,
                turn=turn,
                reservation=f"call:{turn}.{self._settlements}",
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                cost_usd=cost_usd,
                model_calls=model_calls,
                is_estimate=is_estimate,
            )
        )
        self._settlements += 1

    def _require_open(self) -> int:
        if self._number is None or self._is_over:
            raise ObservationError(
                "This turn is not open",
                allowed="reports between entering a turn and leaving it",
                to_do="Report inside `with guard.turn() as turn:`",
            )
        return self._number


_CLOSING = (LimitKind.TOKENS, LimitKind.COST_USD)
_NEEDED = (LimitKind.MODEL_CALLS, *_CLOSING)
