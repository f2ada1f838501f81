"""One turn of somebody else's loop: a model call and its tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType, TracebackType

from endstop.errors import ClosedAccountError, NotEnoughLeftError, ObservationError
from endstop.events.facts import SignalRejected
from endstop.guard.books import Books
from endstop.kernel.amounts import Amounts, dollars
from endstop.kernel.canonical import action_key
from endstop.kernel.limits import LimitKind, whole
from endstop.kernel.observation import (
    AgentFinished,
    AssistantSaid,
    CallReserved,
    CallSettled,
    CallStatus,
    ContextMeasured,
    Observation,
    SignalGiven,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    tool_called,
)
from endstop.kernel.outcome import StopReason
from endstop.kernel.verdict import LastTurn, Noticed, Stop
from endstop.signals import Signal, parse_reply

_MOST = 10**12

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
        feedback: tuple[str, ...],
    ) -> None:
        self._books = books
        self._scope = scope
        whole("reserve_tokens", reserve_tokens, smallest=0, largest=_MOST)
        cost = Decimal(0) if reserve_cost_usd is None else dollars("reserve_cost_usd", reserve_cost_usd)
        self._asked = Amounts(model_calls=1, tokens=reserve_tokens, cost_usd=cost)
        self._feedback = feedback
        self._number: int | None = None
        self._is_over = False
        self._settlements = 0
        self._calls = 0
        self._closing: LimitKind | None = None
        self._reserved = self._asked
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
        return self._require_open()

    @property
    def is_last(self) -> bool:
        """This is the closing turn: give the model no tools, and let it write the best answer it can."""
        return self._closing is not None

    @property
    def hint(self) -> str | None:
        """What to tell the model now: wrap up, last turn, try otherwise. After all tool results, please."""
        return "\n".join((*self._feedback, *self._hints)) or None

    @property
    def max_tokens(self) -> int | None:
        """The most this turn's call may use, input and output, so that the budget holds. None: no limit."""
        limited = self._books.recorder.state.ledger.left(self._scope, LimitKind.TOKENS, closing=True)
        return None if limited is None else self._reserved.tokens or int(limited)

    @property
    def seconds_left(self) -> float | None:
        """How long this turn may still take: pass it on as a time-out. None: no time limit."""
        return self._books.seconds_left(self._scope)

    @property
    def must_stop(self) -> StopReason | None:
        """Why the turn should be cut short, if it should: a cancellation, time, a loop inside the turn."""
        verdict = self._books.verdict(self._scope)
        return verdict.reason if isinstance(verdict, Stop) else None

    def spent(
        self,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost_usd: Decimal | str | float | None = None,
    ) -> None:
        """What the model call really used. Leave ``cost_usd`` out when it is unknown; zero means free."""
        with self._books.lock:
            turn = self._require_open()
            is_first = self._settlements == 0
            cost = None if cost_usd is None else dollars("cost_usd", cost_usd)
            is_estimate = cost is None and is_first and self._reserved.cost_usd > 0
            if not is_first:
                self._reserve_again(turn)
            reservation = self._reservation
            self._observed(
                CallSettled(
                    at_s=self._books.now_s,
                    scope=self._scope,
                    turn=turn,
                    reservation=reservation,
                    input_tokens=whole("input_tokens", input_tokens, smallest=0, largest=_MOST),
                    output_tokens=whole("output_tokens", output_tokens, smallest=0, largest=_MOST),
                    cost_usd=self._reserved.cost_usd if is_estimate else cost,
                    model_calls=1 if is_first else 0,
                    is_estimate=is_estimate,
                )
            )
            self._settlements += 1

    def said(self, text: str) -> str:
        """The model's text. Returns it without its signals, as a user should see it."""
        reply = parse_reply(text)
        with self._books.lock:
            turn = self._require_open()
            if reply.signal is not None:
                self._signalled(turn, reply.signal)
            for extra in reply.extra:
                self._rejected(turn, extra.type.value, "one signal too many: the first counts")
            for malformed in reply.malformed:
                self._rejected(turn, malformed.text, malformed.problem)
            self._observed(
                AssistantSaid(at_s=self._books.now_s, scope=self._scope, turn=turn, text=reply.text)
            )
        return reply.text

    def refusal(self, tool: str, arguments: object = NO_ARGUMENTS) -> str | None:
        """Ask before running a tool: None if it may run, else what to tell the model instead.

        A refused call is recorded with its result: do not report it with ``called`` again.
        """
        with self._books.lock:
            turn = self._require_open()
            status, why = self._refused(tool, action_key(tool, arguments))
            if why is None:
                return None
            self._answered(turn, tool, arguments, status=status, result=why)
            return why

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
        with self._books.lock:
            turn = self._require_open()
            status = CallStatus.EXECUTED if ok else CallStatus.FAILED
            self._answered(
                turn,
                tool,
                arguments,
                status=status,
                result=result if isinstance(result, str) else repr(result),
                is_waiting=waiting,
                is_cursor=cursor,
                changes_something=changes_something,
            )

    def measured_context(self, tokens: int) -> None:
        """How large the context of the model call is, for a budget that limits it."""
        with self._books.lock:
            self._require_open()
            self._observed(ContextMeasured(at_s=self._books.now_s, scope=self._scope, tokens=tokens))

    def finished(self, answer: str = "") -> None:
        """The model is done by itself: the loop ends after this turn, as completed."""
        with self._books.lock:
            self._require_open()
            self._observed(AgentFinished(at_s=self._books.now_s, scope=self._scope, answer=answer))

    def _begin(self) -> None:
        if self._number is not None:
            raise ObservationError("This turn was entered before", to_do="Take a new one with guard.turn()")
        self._books.require_open(self._scope)
        recorder = self._books.recorder
        verdict = self._books.verdict(self._scope)
        if isinstance(verdict, Stop):
            raise ClosedAccountError(
                f"The run may not take another turn: {verdict.reason.message}",
                to_do="Ask may_continue() before each turn; it says no here, and records why",
            )
        ledger = recorder.state.ledger
        self._closing = verdict.limit if isinstance(verdict, LastTurn) else self._does_not_fit()
        for kind in (LimitKind.TURNS, LimitKind.MODEL_CALLS):
            left = ledger.left(self._scope, kind, closing=self.is_last)
            if left is not None and left < 1:
                raise NotEnoughLeftError(
                    f"No {kind.value} are left beside those under way",
                    to_do="Let the turns that run at the same time end first",
                )
        number = recorder.state.scopes[self._scope].turns_started
        now_s = self._books.now_s
        started = self._observed(
            TurnStarted(at_s=now_s, scope=self._scope, turn=number, closing=self._closing)
        )
        self._hints = started.hints
        self._reserved = ledger.fit(self._scope, self._asked, closing=self.is_last)
        self._number = number
        self._observed(
            CallReserved(
                at_s=now_s,
                scope=self._scope,
                turn=number,
                reservation=self._reservation,
                amounts=self._reserved,
                closing=self.is_last,
            )
        )

    def _does_not_fit(self) -> LimitKind | None:
        """The limit that makes this the last turn: what it asks for is only there with the finish reserve."""
        ledger = self._books.recorder.state.ledger
        for kind in (LimitKind.TOKENS, LimitKind.COST_USD):
            left = ledger.left(self._scope, kind)
            if left is not None and self._asked.of(kind) > left:
                return kind
        return None

    def _end(self) -> None:
        turn = self._require_open()
        if not self._books.is_open(self._scope):
            self._is_over = True  # the run was ended from within the turn; it has settled everything
            return
        if self._settlements == 0:
            self._observed(
                CallSettled(
                    at_s=self._books.now_s,
                    scope=self._scope,
                    turn=turn,
                    reservation=self._reservation,
                    input_tokens=self._reserved.tokens,
                    cost_usd=self._reserved.cost_usd or None,
                    model_calls=self._reserved.model_calls,
                    is_estimate=True,
                )
            )
        self._observed(TurnEnded(at_s=self._books.now_s, scope=self._scope, turn=turn))
        self._is_over = True

    @property
    def _reservation(self) -> str:
        return f"call:{self._number}.{self._settlements}"

    def _reserve_again(self, turn: int) -> None:
        """A second settlement in one turn needs a reservation of its own, topped up as it is settled."""
        self._observed(
            CallReserved(
                at_s=self._books.now_s,
                scope=self._scope,
                turn=turn,
                reservation=self._reservation,
                amounts=Amounts(),
                closing=self.is_last,
            )
        )

    def _refused(self, tool: str, key: str) -> tuple[CallStatus, str | None]:
        if self.is_last:
            return CallStatus.SKIPPED, "Not run: this is the last turn. Answer with what you have."
        most = self._books.tool_calls_per_turn(self._scope)
        if most is not None and self._calls >= most:
            return CallStatus.SKIPPED, f"Not run: at most {most} tool calls per turn. Ask again next turn."
        if self._books.recorder.state.scopes[self._scope].watch.is_tripped(tool, key):
            return CallStatus.TRIPPED, (
                f"Not run: {tool} failed the same way too often with these arguments. Try something else."
            )
        return CallStatus.EXECUTED, None

    def _answered(
        self,
        turn: int,
        tool: str,
        arguments: object,
        *,
        status: CallStatus,
        result: str,
        is_waiting: bool = False,
        is_cursor: bool = False,
        changes_something: bool = False,
    ) -> None:
        self._calls += 1
        call = f"{turn + 1}.{self._calls}"
        now_s = self._books.now_s
        called = tool_called(
            at_s=now_s,
            scope=self._scope,
            turn=turn,
            call=call,
            tool=tool,
            arguments=arguments,
            is_cursor=is_cursor,
        )
        self._observed(called)
        self._observed(
            ToolFinished(
                at_s=now_s,
                scope=self._scope,
                turn=turn,
                call=call,
                tool=tool,
                key=called.key,
                status=status,
                result=result,
                is_waiting=is_waiting,
                is_cursor=is_cursor,
                changes_something=changes_something,
            )
        )

    def _signalled(self, turn: int, signal: Signal) -> None:
        self._observed(
            SignalGiven(
                at_s=self._books.now_s,
                scope=self._scope,
                turn=turn,
                type=signal.type.value,
                confidence=signal.confidence,
                reason=signal.reason,
                fields=signal.fields,
            )
        )

    def _rejected(self, turn: int, text: str, problem: str) -> None:
        self._books.note(SignalRejected(scope=self._scope, turn=turn, text=text, problem=problem))

    def _observed(self, observation: Observation) -> Noticed:
        return self._books.recorder.observe(observation, time=self._books.unix_s)

    def _require_open(self) -> int:
        if self._number is None or self._is_over:
            raise ObservationError(
                "This turn is not open",
                allowed="reports between entering a turn and leaving it",
                to_do="Report inside `with guard.turn() as turn:`",
            )
        return self._number
