"""The tool loop: turn after turn, until the governor says stop (section D).

It asks the governor before every turn, and does what it says. A limit, a finding, a failure or a
cancellation ends the run with one ending; a review or a question to the user pauses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from endstop.errors import EndstopError, RunStateError, StoreError, cause
from endstop.events.facts import UserAwaited
from endstop.events.reviewing import is_reviewable
from endstop.kernel.budget import Budget
from endstop.kernel.evolve import maker
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AgentFinished,
    CallStatus,
    CallUnaffordable,
    ContextMeasured,
    RunPaused,
    ScopeOpened,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from endstop.kernel.outcome import AwaitingUser, Ending, Failed, Outcome, StopReason, StopRule
from endstop.kernel.verdict import LastTurn, Stop
from endstop.kernel.wording import last_turn
from endstop.loop.agent import Agent, OnLimit
from endstop.loop.asking import Asking, Reply
from endstop.loop.awaiting import AwaitUser
from endstop.loop.bounded import Ended, Overseer
from endstop.loop.calls import Calls
from endstop.loop.escalating import Escalating
from endstop.loop.history import History, messages_of
from endstop.loop.journal import Journal
from endstop.loop.reviews import Reviews
from endstop.loop.toolbox import Toolbox
from endstop.ports import Message, ToolResult, UserMessage
from endstop.signals import SignalType

_GOES_ON_FROM = 0.5
"""A ``need_turn`` with less confidence does not ask for another turn (C6)."""

_SHORTER = "Your reply was cut off at its greatest length. Be shorter, and say it again as a whole."
_TRUNCATED_CALL = "Not run: your reply was cut off at its greatest length. Be shorter, and ask again."
_CUT_CALL = "Not run: the reply was cut off."
_TOLD_TO_STOP = "Cancelled: the process that ran it was told to stop. It may have had its effect."
_WOULD_NOT_END = "Cut off: it did not end when it was told to. It may have had its effect."
_USE_TOOLS = "Use your tools: prose alone is no answer here."
_EMPTY = "Your reply was empty. Use a tool, or answer."
_MOST_EMPTY = 2
_GIVE_WAY_S = 0.005
_MOST_PROSE = 2

_turn_started = maker(TurnStarted)
_turn_ended = maker(TurnEnded)


class Driver:
    """Drives one run, or one scope of it, to its outcome."""

    def __init__(
        self,
        journal: Journal,
        agent: Agent,
        *,
        scope: str = ROOT,
        overseer: Overseer | None = None,
        before: Iterable[Message] = (),
    ) -> None:
        """``before`` is what was said before the run began: the conversation it belongs to."""
        self.journal = journal
        self.agent = agent
        self.result: object = None
        """What the terminal tool gave, once it has."""
        self.is_to_leave = False
        """Leave the run open after the turn under way: the process is to end, and another will go on."""
        self._scope = scope
        self._overseer = Overseer() if overseer is None else overseer
        self._await_user = AwaitUser() if agent.awaits_user else None
        terminal = () if agent.terminal is None else (agent.terminal,)
        toolbox = agent.toolbox
        if self._await_user is not None:
            toolbox = Toolbox((*agent.tools, self._await_user, *terminal))
        self._tools = toolbox.specs
        self._closing_tools = Toolbox(terminal).specs
        self._before = tuple(before)
        self._history = History(agent.model, system=agent.system, tools=self._tools)
        self._read_history()
        self._asking = Asking(journal, agent, self._history, self._overseer, scope)
        self._calls = Calls(journal, agent, toolbox, self._overseer, scope, self.run_child)
        self._reviews = Reviews(journal, agent, self._overseer)
        self._escalating = Escalating(journal, agent.escalation, scope)
        self._limits_context = any(
            account.budget.context_tokens is not None
            for account in journal.recorder.state.ledger.lineage(scope)
        )
        self._gave_way_s = 0.0
        self._empty_replies = 0
        self._prose_replies = 0
        self._children = 0
        self._under_way: set[Driver] = set()

    def cut(self) -> None:
        """End what is under way at once. What the governor says then decides how the run goes on."""
        self._overseer.cut()
        for child in tuple(self._under_way):
            child.cut()

    async def drive(self) -> Outcome | None:
        """Drive it to its outcome; None if it is left open, to be resumed."""
        try:
            outcome = await self._overseer.oversee(self._drive, self._pick_up)
            await self.journal.flush()
        except asyncio.CancelledError:
            await self._salvaged()
            raise
        except StoreError:
            raise  # what cannot be kept must not go on; the record stands where it was last saved
        except Exception as error:  # noqa: BLE001 - whatever broke, the run ends with its work saved
            outcome = self._failed("driver_failed", cause(error))
            await self.journal.flush()
        finally:
            for child in tuple(self._under_way):  # left behind by a tool that did not wait for it
                child.cut()
            await self._overseer.close()
        return outcome

    async def _drive(self) -> Outcome | None:
        while True:
            await self._give_way()
            if self._limits_context:
                measured = ContextMeasured(
                    at_s=self.journal.now_s, scope=self._scope, tokens=self._history.tokens
                )
                self.journal.enter(measured)
            verdict = self.journal.verdict(self._scope)
            if isinstance(verdict, Stop):
                outcome = await self._stop(verdict.reason)
                if outcome is not None:
                    return outcome
                continue
            if self.is_to_leave:
                return None
            outcome = await self._turn(verdict.limit if isinstance(verdict, LastTurn) else None)
            if outcome is not None:
                return outcome

    async def _give_way(self) -> None:
        """Let others have their turn, at times: with a model that answers at once nothing is waited for."""
        now_s = self.journal.now_s
        if now_s - self._gave_way_s > _GIVE_WAY_S:
            self._gave_way_s = now_s
            await asyncio.sleep(0)

    async def _turn(self, closing: LimitKind | None) -> Outcome | None:
        terms = self._asking.terms(closing)
        if isinstance(terms, LimitKind):
            self._unaffordable(terms)
            return None
        closing = terms.closing
        turn = self.journal.recorder.live.scopes[self._scope].turns_started
        started = _turn_started(at_s=self.journal.now_s, scope=self._scope, turn=turn, closing=closing)
        noticed = self.journal.enter(started)
        self._hand_on(turn, noticed.hints, closing)
        tools = self._tools if closing is None else self._closing_tools
        reply = await self._asking.ask(turn, terms, tools)
        ending = await self._answered(turn, reply, is_closing=closing is not None)
        self._finish(turn, reply, ending, is_closing=closing is not None)
        self.journal.enter(_turn_ended(at_s=self.journal.now_s, scope=self._scope, turn=turn))
        if reply.unaffordable is not None:
            self._unaffordable(reply.unaffordable)
        if reply.failure is not None:
            return self._failed_model(reply)
        if self._empty_replies >= _MOST_EMPTY:
            return self._failed("empty_replies", f"The model gave {_MOST_EMPTY} empty replies in a row.")
        if self._prose_replies >= _MOST_PROSE:
            why = f"No tool was called in {_MOST_PROSE} turns in a row, though this agent must use tools."
            return self._failed("tools_unused", why)
        is_finished = self.journal.recorder.live.scopes[self._scope].is_finished
        failure = None if is_finished else self._escalating.turn_ended()
        if failure is not None:
            return self._failed(failure.code, str(failure))
        return await self._awaiting(turn)

    def _hand_on(self, turn: int, hints: tuple[str, ...], closing: LimitKind | None) -> None:
        """Give the model what the governor has to say to it, after all results of its calls (A2).

        The governor knows the run's terminal tool, not that of a sub-agent, which is told in our words.
        """
        if closing is not None and self._scope != ROOT:
            terminal = "" if self.agent.terminal is None else self.agent.terminal.spec.name
            self._asking.tell(turn, last_turn(closing, terminal))
            return
        for hint in hints:
            self._history.add(UserMessage(text=hint))

    async def _answered(self, turn: int, reply: Reply, *, is_closing: bool) -> ToolResult | None:
        """Answer the calls of a reply, and put both into the history. The terminal tool's result, if any."""
        requests = self._calls.numbered(turn, reply.calls)
        self._asking.keep(reply.text, requests, is_closing=is_closing)
        if not requests:
            return None
        not_run = None if reply.is_whole else _TRUNCATED_CALL if reply.is_truncated else _CUT_CALL
        answered = await self._calls.answer(turn, requests, closing=is_closing, not_run=not_run)
        for message in answered.messages:
            self._history.add(message)
        return answered.ending

    def _finish(self, turn: int, reply: Reply, ending: ToolResult | None, *, is_closing: bool) -> None:
        """Record that the agent is done, if it is; tell it what is missing, if that is for us to say."""
        if ending is not None:
            self.result = ending.value
            self._enter_finished(ending.text)
            return
        if reply.calls or reply.failure is not None or reply.unaffordable is not None:
            self._empty_replies = self._prose_replies = 0
            return
        if not reply.is_whole:
            if reply.is_truncated and not is_closing:
                self._asking.tell(turn, _SHORTER)
            return
        if self.agent.config.must_use_tools:
            if not self.journal.recorder.started.config.must_use_tools and not is_closing:
                self._prose_replies += 1  # a sub-agent: the governor knows only what the run itself must do
                self._asking.tell(turn, _USE_TOOLS)
            return
        if _wants_another_turn(reply):
            return
        if not reply.text.strip():
            self._empty_replies += 1
            if not is_closing:
                self._asking.tell(turn, _EMPTY)
            return
        self._enter_finished(reply.text.strip())

    def _enter_finished(self, answer: str) -> None:
        self._empty_replies = 0
        self.journal.enter(AgentFinished(at_s=self.journal.now_s, scope=self._scope, answer=answer))

    def _unaffordable(self, limit: LimitKind) -> None:
        self.journal.enter(CallUnaffordable(at_s=self.journal.now_s, scope=self._scope, limit=limit))

    async def _stop(self, reason: StopReason) -> Outcome | None:
        """What a stop leads to: an ending, a pause, or, reviewed and approved at once, nothing (None)."""
        is_hard_limit = self._escalating.is_reached and reason.rule is StopRule.TURNS
        if is_hard_limit and self.agent.awaits_user:
            return self._await_user_at_limit()
        wants_review = reason.asks or is_hard_limit or self.agent.on_limit is OnLimit.REVIEW
        if self._scope == ROOT and wants_review and is_reviewable(reason):
            why = self._escalating.why() if is_hard_limit else reason.message
            outcome, feedback = await self._reviews.ask(why)
            for text in feedback:
                self._history.add(UserMessage(text=text))
            return outcome
        return self.journal.end(reason, scope=self._scope)

    def _await_user_at_limit(self) -> Outcome:
        """A hard limit is a valid ending for an agent that has told the user where it stands (D7)."""
        awaited = [
            fact.payload for fact in self.journal.recorder.facts if isinstance(fact.payload, UserAwaited)
        ]
        if not awaited:
            limit = self._escalating.limit_error
            return self._failed(
                "await_user_missing",
                f"{limit}; the agent never told the user where it stands, with await_user, before that.",
            )
        self._pause("The agent has reached its limit and waits for the user.")
        return AwaitingUser(question=awaited[-1].question)

    async def _awaiting(self, turn: int) -> Outcome | None:
        """Pause if the agent has asked the user something."""
        question = None if self._await_user is None else self._await_user.taken()
        if question is None:
            return None
        self.journal.note(UserAwaited(scope=self._scope, turn=turn, question=question))
        if isinstance(self.journal.verdict(self._scope), Stop):
            return None  # whatever ends the run comes first, and knows that the user was told
        self._pause(question)
        return AwaitingUser(question=question)

    def _pause(self, why: str) -> None:
        self.journal.enter(RunPaused(at_s=self.journal.now_s, why=why))

    def _failed_model(self, reply: Reply) -> Outcome | None:
        """A model that failed for good ends the run; a stop that is due anyway comes first."""
        failure = reply.failure
        assert failure is not None, "it failed"
        if isinstance(self.journal.verdict(self._scope), Stop):
            return None
        return self._failed(failure.code, str(failure))

    def _failed(self, code: str, message: str) -> Ending:
        gathered = self.journal.recorder.gathered(self._scope) or ""
        return self.journal.end_with(Failed(code=code, message=message, answer=gathered), scope=self._scope)

    async def run_child(
        self, agent: Agent, question: str, *, budget: Budget | None = None, name: str | None = None
    ) -> Outcome:
        """Run a sub-agent on a part of what is left here; what it does not use flows back (A7)."""
        self._children += 1
        scope = name or f"{self._scope}/{agent.name}-{self._children}"
        own = agent.config.budget if budget is None else budget
        above = self.journal.recorder.state.ledger.account(self._scope).budget
        carved = replace(own, grant_cap=above.grant_cap, unknown_price=above.unknown_price)
        self.journal.enter(
            ScopeOpened(at_s=self.journal.now_s, scope=scope, parent=self._scope, budget=carved)
        )
        self.journal.enter(UserSaid(at_s=self.journal.now_s, scope=scope, text=question))
        child = Driver(
            self.journal,
            replace(agent, on_limit=OnLimit.FINISH, escalation=None, awaits_user=False),
            scope=scope,
        )
        self._under_way.add(child)
        try:
            outcome = await child.drive()
        finally:
            self._under_way.discard(child)
            if self.journal.is_open(scope):
                above_ended = StopReason(rule=StopRule.PARENT, message="What it worked for was cut short.")
                self.journal.end(above_ended, scope=scope)
        if outcome is None:
            raise RunStateError(f"The sub-agent {scope!r} was left open")
        return outcome

    async def _salvaged(self) -> None:
        """Whoever waits for this run does so no longer: keep what there is, and leave the run open."""
        if not self.journal.is_open(self._scope):
            return
        try:
            self._close_turn(CallStatus.CANCELLED, _TOLD_TO_STOP)
            await self.journal.flush()
        except EndstopError:
            return  # the record stands where it was last saved; resuming goes on from there

    def _pick_up(self, reason: Ended) -> None:
        """A worker was left behind in a call that would not end: go on from the record, without it."""
        for child in tuple(self._under_way):
            child.cut()
        above = StopReason(rule=StopRule.PARENT, message="What it worked for was cut short.")
        for scope in self.journal.recorder.state.ledger.children(self._scope):
            self.journal.end(above, scope=scope)
        is_late = reason is Ended.OUT_OF_TIME
        self._close_turn(CallStatus.TIMED_OUT if is_late else CallStatus.CANCELLED, _WOULD_NOT_END)
        self._read_history()

    def _close_turn(self, status: CallStatus, why: str) -> None:
        """Record what there is of the turn under way, and end it."""
        self._asking.salvage()
        self._calls.answer_open(status, why)
        for turn in sorted(self.journal.recorder.state.scopes[self._scope].open_turns):
            self.journal.enter(TurnEnded(at_s=self.journal.now_s, scope=self._scope, turn=turn))

    def _read_history(self) -> None:
        self._history.begin_anew((*self._before, *messages_of(self.journal.recorder.facts, self._scope)))


def _wants_another_turn(reply: Reply) -> bool:
    signal = reply.signal
    return signal is not None and signal.type is SignalType.NEED_TURN and signal.confidence >= _GOES_ON_FROM
