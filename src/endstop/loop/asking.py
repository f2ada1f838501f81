"""The model call of one turn: reserved first, streamed, settled; tried again if that may help (A6, D11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from endstop.errors import ModelError, ModelUnreachableError
from endstop.events.facts import ModelFailed, ModelTold, Thought
from endstop.events.replies import reply_payloads
from endstop.kernel.evolve import maker, quick
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import CallReserved, CallSettled, ReplyRepeated
from endstop.kernel.terms import CallTerms, call_terms
from endstop.loop.agent import Agent
from endstop.loop.bounded import Ended, Overseer
from endstop.loop.history import History
from endstop.loop.journal import Delta, Journal, smallest_limit
from endstop.loop.reading import Reading, Show
from endstop.loop.settling import settlement
from endstop.ports import AssistantMessage, ModelRequest, ModelUsage, ToolRequest, ToolSpec, UserMessage
from endstop.signals import Signal, SignalStream, parse_reply

_GO_ON = "Go on."


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of a turn's model call."""

    text: str = ""
    """Without its signals."""
    calls: list[ToolRequest] = field(default_factory=list[ToolRequest])
    signal: Signal | None = None
    is_whole: bool = False
    """It came to its end: not cut off, not truncated."""
    is_truncated: bool = False
    failure: ModelError | None = None
    unaffordable: LimitKind | None = None


_reply = maker(Reply)
_request = maker(ModelRequest)
_usage = maker(ModelUsage)
_call_reserved = maker(CallReserved)
_assistant_message = maker(AssistantMessage)


class Asking:
    """Makes the model calls of one run or scope."""

    def __init__(
        self,
        journal: Journal,
        agent: Agent,
        history: History,
        overseer: Overseer,
        scope: str,
        *,
        is_beside: bool = False,
    ) -> None:
        """``is_beside``: calls are made in tasks of their own, beside whatever drives."""
        self._journal = journal
        self._agent = agent
        self._history = history
        self._overseer = overseer
        self._run = overseer.run_beside if is_beside else overseer.run
        self._scope = scope
        self.most_output: Callable[[], int] = lambda: agent.max_output_tokens
        """How long a reply may be by now, where the limits do not make it shorter."""
        self.watcher: Callable[[], None] | None = None
        """Told that a piece of a reply has come."""
        self._reading: Reading | None = None
        self._under_way: tuple[int, str, CallTerms, int] | None = None
        self._most_context = smallest_limit(journal, scope, LimitKind.CONTEXT_TOKENS)

    def terms(self, closing: LimitKind | None, *, is_in_turn: bool = False) -> CallTerms | LimitKind:
        """On what terms the next call can be made, or the limit that allows none."""
        if self._most_context is not None and self._history.tokens > self._most_context:
            return LimitKind.CONTEXT_TOKENS
        output_cap = self.most_output()
        if output_cap < 1:
            return LimitKind.TOKENS
        return call_terms(
            self._journal.recorder.live.ledger,
            self._scope,
            input_tokens=self._history.tokens,
            output_cap=output_cap,
            cost_of=self._cost_usd,
            closing=closing,
            is_in_turn=is_in_turn,
        )

    def _cost_usd(self, sent: int, said: int) -> Decimal | None:
        return self._agent.model.cost_usd(_usage(input_tokens=sent, output_tokens=said))

    def tell(self, turn: int, text: str) -> None:
        """Tell the model something of the driver's own accord."""
        self._journal.note(ModelTold(scope=self._scope, turn=turn, text=text))
        self._history.add(UserMessage(text=text))

    @property
    def chars_so_far(self) -> int:
        """How much text has come of the reply that is streaming; 0 when none is."""
        return 0 if self._under_way is None or self._reading is None else self._reading.chars

    async def ask(self, turn: int, agreed: CallTerms, *, system: str, tools: tuple[ToolSpec, ...]) -> Reply:
        """Make the call, again if it fails in a way that may pass, and record what came of it.

        The terms that were agreed before the turn hold if nothing was added to the history since.
        """
        closing = agreed.closing
        if isinstance(self._history.messages[-1] if self._history.messages else None, AssistantMessage):
            self.tell(turn, _GO_ON)
        failures = 0
        while True:
            is_as_agreed = failures == 0 and agreed.input_tokens == self._history.tokens
            terms = agreed if is_as_agreed else self.terms(closing, is_in_turn=True)
            if isinstance(terms, LimitKind):
                is_out_of_room = closing is not None or terms is LimitKind.CONTEXT_TOKENS
                return Reply(unaffordable=terms if is_out_of_room else None)  # else: the next turn closes
            ended, reading = await self._attempt(turn, failures, terms, closing, system, tools)
            reply = self._recorded(turn, reading, ended)
            if reply.failure is None:
                return reply
            failures += 1
            wait_s = self._wait_s(reply.failure, failures, closing)
            self._note_failure(turn, failures, reply.failure, wait_s)
            if wait_s is None or not await self._waited(wait_s):
                return reply

    def salvage(self) -> str:
        """Record what has come of a call that is under way and will not be waited for. Its text, if any."""
        if self._under_way is None or self._reading is None:
            return ""
        turn, reservation, terms, sent = self._under_way
        self._reading.show_rest()
        self._settle(turn, reservation, terms, sent)
        return self._recorded(turn, self._reading, Ended.CUT).text

    async def _attempt(
        self,
        turn: int,
        failures: int,
        terms: CallTerms,
        closing: LimitKind | None,
        system: str,
        tools: tuple[ToolSpec, ...],
    ) -> tuple[Ended, Reading]:
        journal, history, agent = self._journal, self._history, self._agent
        is_closing = closing is not None
        reservation = f"call:{turn}.{failures}"
        sent = history.tokens
        journal.enter(
            _call_reserved(
                at_s=journal.now_s,
                scope=self._scope,
                turn=turn,
                reservation=reservation,
                amounts=terms.amounts,
                closing=is_closing,
            )
        )
        if journal.is_kept:
            await journal.hand_over()  # what may be spent from here on is on its way into the record
        request = _request(
            system=system,
            messages=history.messages,
            tools=tools,
            max_output_tokens=terms.max_output_tokens,
        )
        thresholds = journal.recorder.started.config.thresholds
        show = self._show(turn) if journal.listener is not None or self.watcher is not None else None
        reading = self._reading = Reading(request, thresholds, show)
        self._under_way = turn, reservation, terms, sent
        ended = await self._run(
            reading.read(agent.model),
            seconds=journal.seconds_left(self._scope, closing=is_closing),
            stall_s=agent.stall_s,
            last_sign_s=lambda: reading.last_sign_s,
        )
        if show is not None:
            reading.show_rest()
        self._settle(turn, reservation, terms, sent)
        return ended, reading

    def _settle(self, turn: int, reservation: str, terms: CallTerms, sent: int) -> None:
        assert self._reading is not None, "a call is under way"
        self._under_way = None
        settled = settlement(
            self._reading,
            self._agent.model,
            self._journal.recorder.live.ledger,
            reserved=terms.amounts,
            input_tokens=sent,
            at_s=self._journal.now_s,
            scope=self._scope,
            turn=turn,
            reservation=reservation,
        )
        self._journal.enter(settled.settled)
        if settled.disputed is not None:
            self._journal.note(settled.disputed)
        self._last_settled = settled.settled

    def _recorded(self, turn: int, reading: Reading, ended: Ended) -> Reply:
        """Record what was said, and put it into the history; a reply that failed is not put there."""
        is_whole = ended is Ended.BY_ITSELF and reading.has_ended and not reading.is_truncated
        failure = reading.error
        if ended is Ended.STALLED:
            failure = ModelUnreachableError(
                f"Nothing came from the model for {self._agent.stall_s:g} s", to_do="Try again"
            )
        thought = reading.thought
        if thought:
            self._journal.note(Thought(scope=self._scope, turn=turn, text=thought))
        if reading.repeated is not None:
            found = reading.repeated
            self._journal.enter(
                ReplyRepeated(
                    at_s=self._journal.now_s,
                    scope=self._scope,
                    turn=turn,
                    chunk=found.chunk,
                    times=found.times,
                )
            )
        if failure is not None and not reading.has_begun:
            return Reply(failure=failure)
        parsed = parse_reply(reading.text)
        at_s = self._journal.recorder.live.now_s  # when the call was settled, a moment ago
        for payload in reply_payloads(
            parsed, at_s=at_s, scope=self._scope, turn=turn, is_cut_off=not is_whole
        ):
            self._journal.record(payload)
        return _reply(
            text=parsed.text,
            calls=[] if failure is not None else reading.calls,
            signal=parsed.signal,
            is_whole=is_whole and failure is None,
            is_truncated=reading.is_truncated,
            failure=failure if ended in (Ended.BY_ITSELF, Ended.STALLED) else None,
        )

    def keep(self, text: str, calls: tuple[ToolRequest, ...], *, is_closing: bool) -> None:
        """Put a reply into the history, and believe the provider's count of what there is by now.

        Not that of a closing turn: it was asked without tools, and if the run goes on they come back.
        """
        if not text and not calls:
            return
        self._history.add(_assistant_message(text=text, calls=calls))
        settled = self._last_settled
        if not settled.is_estimate and not is_closing:
            self._history.measured(settled.input_tokens + settled.output_tokens)

    def _show(self, turn: int) -> Show:
        """Shows the reply to whoever listens, without any part of a signal (C3)."""
        stream = SignalStream()
        run_id, scope = self._journal.run_id, self._scope

        def show(text: str | None, is_thought: bool) -> None:
            if self.watcher is not None:
                self.watcher()
            if self._journal.listener is None:
                return
            shown = text if is_thought else stream.finish() if text is None else stream.feed(text)
            if shown:
                self._journal.show(
                    Delta(run_id=run_id, scope=scope, turn=turn, text=shown, is_thought=is_thought)
                )

        return show

    def _wait_s(self, failure: ModelError, failures: int, closing: LimitKind | None) -> float | None:
        """How long to wait before the next try; None if there is to be none."""
        retries = self._agent.retries
        if not failure.is_retryable or failures >= retries.attempts:
            return None
        wait_s = retries.wait_s(failures, failure.retry_after_s)
        left = self._journal.seconds_left(self._scope, closing=closing is not None)
        return None if left is not None and left <= wait_s else wait_s

    def _note_failure(self, turn: int, attempt: int, failure: ModelError, wait_s: float | None) -> None:
        self._journal.note(
            ModelFailed(
                scope=self._scope,
                turn=turn,
                attempt=attempt,
                code=failure.code,
                message=str(failure),
                retry_in_s=wait_s,
            )
        )

    async def _waited(self, seconds: float) -> bool:
        """Wait before the next try; False if the run is to end first."""
        return await self._overseer.pause(seconds)

    _last_settled: CallSettled
