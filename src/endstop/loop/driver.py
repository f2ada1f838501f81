"""Drives a run: turns in the tool loop, or as its steering takes them, until the governor says stop.

The governor is asked before every turn, and what it says is done. A limit, a finding, a failure or a
cancellation ends the run with one ending; a review or a question to the user pauses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from typing import Any

from endstop.errors import EndstopError, RunStateError, StoreError, cause
from endstop.events.facts import UserAwaited
from endstop.events.reviewing import is_reviewable
from endstop.kernel.budget import Budget
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import CallStatus, RunPaused, ScopeOpened, UserSaid
from endstop.kernel.outcome import AwaitingUser, Completed, Ending, Failed, Outcome, StopReason, StopRule
from endstop.kernel.verdict import Stop, Verdict
from endstop.loop.agent import Agent, OnLimit
from endstop.loop.asking import Reply
from endstop.loop.bounded import Ended, Overseer
from endstop.loop.conducting import Halted, Interlude, Stage
from endstop.loop.delegating import Delegating
from endstop.loop.elsewhere import Elsewhere
from endstop.loop.escalating import Escalating
from endstop.loop.journal import Journal
from endstop.loop.reviews import Reviews
from endstop.loop.turns import MOST_EMPTY, MOST_PROSE, Turns
from endstop.ports import Message

_TOLD_TO_STOP = "Cancelled: the process that ran it was told to stop. It may have had its effect."
_WOULD_NOT_END = "Cut off: it did not end when it was told to. It may have had its effect."
_IDLE = "What steers this agent ended without taking a turn, and would do so for ever."
_GIVE_WAY_S = 0.005


class Driver:
    """Drives one run, or one scope of it, to its outcome."""

    def __init__(
        self,
        journal: Journal,
        agent: Agent,
        *,
        scope: str = ROOT,
        before: Iterable[Message] = (),
        may_pause: bool = True,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """``before`` is what was said before the run began: the conversation it belongs to. ``may_pause``: it
        may have the run wait for a person. ``elsewhere``: where sub-agents can be handed to."""
        self.journal = journal
        self.agent = agent
        self._scope = scope
        self._may_pause = may_pause
        self._overseer = Overseer()
        self._turns = Turns(
            journal, agent, self._overseer, scope=scope, before=before, run_child=self.run_child
        )
        self._elsewhere = elsewhere
        self._delegating = Delegating(
            journal,
            elsewhere,
            scope=scope,
            is_to_leave=lambda: self.is_to_leave,
            takes_on=agent.conducting is None,  # each part takes on its own
        )
        self._reviews = Reviews(journal, agent, self._overseer, scope)
        self._escalating = Escalating(journal, agent.escalation, scope)
        self._gave_way_s = 0.0
        self._children = 0
        self._under_way: set[Driver] = set()
        self._stage = None if agent.conducting is None else Stage(self)

    @property
    def is_to_leave(self) -> bool:
        """Leave the run open after the turn under way: the process is to end, and another will go on."""
        return self._turns.is_to_leave

    @is_to_leave.setter
    def is_to_leave(self, leaves: bool) -> None:
        self._turns.is_to_leave = leaves
        if self.agent.conducting is not None:
            for part in self._under_way:
                part.is_to_leave = leaves

    @property
    def result(self) -> object:
        """What the terminal tool gave, once it has."""
        return self._turns.result

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
            await self._delegating.close()
            await self._overseer.close()
        return outcome

    async def _drive(self) -> Outcome | None:
        while True:
            await self._give_way()
            verdict = await self._verdict()
            if isinstance(verdict, Stop):
                await self._delegating.call_back()
                outcome = await self._stop(verdict.reason)
                if outcome is not None:
                    return outcome
                continue
            if self.is_to_leave:
                return None
            if self._stage is not None:
                return await self._conducted(self._stage)
            outcome = await (self._turn(verdict) if self.agent.steering is None else self._steered())
            if outcome is not None:
                return outcome
            self._delegating.recall_left_behind()

    async def _verdict(self) -> Verdict:
        """What the governor says of another turn. Sub-agents elsewhere that nobody waits for do not make it
        the last one: what they hold is waited for first."""
        verdict = self._turns.verdict()
        if not self._delegating.has_left_behind or self._turns.is_ordinary(verdict):
            return verdict
        left = self.journal.seconds_left(self._scope, closing=False)
        await self._overseer.run(self._delegating.freed(), seconds=left)
        return self._turns.verdict()

    async def _conducted(self, stage: Stage) -> Outcome | None:
        """Have the run taken through its parts."""
        conducting = self.agent.conducting
        assert conducting is not None, "it is conducted"
        try:
            ending = await conducting.conduct(stage)
        except Halted as halted:
            return await self._concluded(stage, halted.reason)
        except Interlude as interlude:
            return interlude.outcome
        if isinstance(ending, Completed):
            self._turns.finished(ending.answer, caveat=" ".join(ending.warnings))
        return self.journal.end_with(ending)

    async def _concluded(self, stage: Stage, reason: StopReason) -> Outcome:
        conducting = self.agent.conducting
        assert conducting is not None, "it is conducted"
        at_s = self.journal.now_s  # that it stops is decided now; saving its work is not charged to it
        return self.journal.end_with(await conducting.conclude(stage, reason), at_s=at_s)

    async def _give_way(self) -> None:
        """Let others have their turn, at times: with a model that answers at once nothing is waited for."""
        now_s = self.journal.now_s
        if now_s - self._gave_way_s > _GIVE_WAY_S:
            self._gave_way_s = now_s
            await asyncio.sleep(0)

    async def _turn(self, verdict: Verdict) -> Outcome | None:
        """One turn of the tool loop."""
        turns = self._turns
        if not turns.begin(verdict):
            return None
        reply = await turns.ask()
        ending = await turns.answer()
        answer = turns.judge() if ending is None else ending.text
        if answer is not None:
            turns.finished(answer)
        turns.end()
        return self._failed_turn(reply) or await self._awaiting(turns.taken - 1)

    async def _steered(self) -> Outcome | None:
        """Have the agent's own steering take turns, until it has nothing more to do."""
        turns, steering = self._turns, self.agent.steering
        assert steering is not None, "it is steered"
        before, turns.reply = turns.taken, None
        try:
            await steering(turns)
        finally:
            turns.watch(None)
        turns.end()
        if turns.question_to_user is not None:
            return await self._awaiting(max(turns.taken - 1, 0))
        if turns.taken > before:
            return None if turns.reply is None else self._failed_turn(turns.reply)
        if isinstance(turns.verdict(), Stop) or self.is_to_leave:
            return None
        return self._failed("steering_idle", _IDLE)

    def _failed_turn(self, reply: Reply) -> Outcome | None:
        """The ending of a run whose turn went wrong for good, if it did."""
        turns = self._turns
        if reply.failure is not None:
            return self._failed_model(reply)
        if turns.empty_replies >= MOST_EMPTY:
            return self._failed("empty_replies", f"The model gave {MOST_EMPTY} empty replies in a row.")
        if turns.prose_replies >= MOST_PROSE:
            why = f"No tool was called in {MOST_PROSE} turns in a row, though this agent must use tools."
            return self._failed("tools_unused", why)
        failure = None if turns.is_finished else self._escalating.turn_ended()
        return None if failure is None else self._failed(failure.code, str(failure))

    async def _stop(self, reason: StopReason) -> Outcome | None:
        """What a stop leads to: an ending, a pause, or, reviewed and approved at once, nothing (None)."""
        if self._stage is not None:
            return await self._concluded(self._stage, reason)
        is_hard_limit = self._escalating.is_reached and reason.rule is StopRule.TURNS
        if is_hard_limit and self.agent.awaits_user:
            return self._await_user_at_limit(reason)
        wants_review = reason.asks or is_hard_limit or self.agent.on_limit is OnLimit.REVIEW
        if self._may_pause and wants_review and is_reviewable(reason):
            why = self._escalating.why() if is_hard_limit else reason.message
            outcome, feedback = await self._reviews.ask(why)
            for text in feedback:
                self._turns.hear(text)
            return outcome
        return self.journal.end(reason, scope=self._scope)

    def _await_user_at_limit(self, reason: StopReason) -> Outcome:
        """A hard limit is a valid ending for an agent that has told the user where it stands (D7)."""
        awaited = [
            fact.payload
            for fact in self.journal.recorder.facts
            if isinstance(fact.payload, UserAwaited) and fact.payload.scope == self._scope
        ]
        if not awaited:
            limit = self._escalating.limit_error
            return self._failed(
                "await_user_missing",
                f"{limit}; the agent never told the user where it stands, with await_user, before that.",
            )
        if self._scope != ROOT:
            return self.journal.end(reason, scope=self._scope)  # what was said goes on to the next part
        self._pause("The agent has reached its limit and waits for the user.")
        return AwaitingUser(question=awaited[-1].question)

    async def _awaiting(self, turn: int) -> Outcome | None:
        """Pause if the agent has asked the user something."""
        question = self._turns.taken_question()
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
        self,
        agent: Agent,
        question: str,
        *,
        budget: Budget | None = None,
        name: str | None = None,
        elsewhere: bool = False,
    ) -> Outcome:
        """Run a sub-agent on a part of what is left here; what it does not use flows back (A7).

        ``elsewhere``: as a run of its own on whichever machine has room, where there are such and the agent
        can be made anew there; else it runs here.
        """
        scope = name or self._next_scope(agent)
        own = agent.config.budget if budget is None else budget
        above = self.journal.recorder.state.ledger.account(self._scope).budget
        carved = replace(own, grant_cap=above.grant_cap, unknown_price=above.unknown_price)
        plain = replace(agent, on_limit=OnLimit.FINISH, escalation=None, awaits_user=False)
        if elsewhere and self._delegating.takes(plain, question):
            return await self._delegating.run(plain, question, scope=scope, budget=carved)
        self.journal.enter(
            ScopeOpened(at_s=self.journal.now_s, scope=scope, parent=self._scope, budget=carved)
        )
        self.journal.enter(UserSaid(at_s=self.journal.now_s, scope=scope, text=question))
        below = Driver(self.journal, plain, scope=scope, may_pause=False, elsewhere=self._elsewhere)
        try:
            outcome = await self._drive_below(below)
        finally:
            is_kept = self._delegating.take_on(below._delegating)  # until what it handed out has ended
            if self.journal.is_open(scope) and not is_kept:
                above_ended = StopReason(rule=StopRule.PARENT, message="What it worked for was cut short.")
                self.journal.end(above_ended, scope=scope)
        if outcome is None:
            raise RunStateError(f"The sub-agent {scope!r} was left open")
        return outcome

    def _next_scope(self, agent: Agent) -> str:
        """A name of its own for the scope of a sub-agent."""
        while True:
            self._children += 1
            scope = f"{self._scope}/{agent.name}-{self._children}"
            if not self.journal.is_open(scope):
                return scope

    async def run_part(self, agent: Agent, scope: str) -> Outcome | None:
        """Drive a part of the run, in a scope that is open, to its outcome; None if it is left open. It may
        have the run wait for a person, and whoever resumes the run goes on with it where it stood."""
        part = Driver(self.journal, agent, scope=scope, elsewhere=self._elsewhere)
        part.is_to_leave = self.is_to_leave
        return await self._drive_below(part)

    async def work(self, make: Callable[[], Coroutine[Any, Any, None]], *, seconds: float) -> Ended:
        """Do something that is not trusted to end, for so long at most, and no longer than the run has."""
        left = self.journal.seconds_left(self._scope, closing=False)
        return await self._overseer.run(make(), seconds=seconds if left is None else min(left, seconds))

    async def _drive_below(self, child: Driver) -> Outcome | None:
        self._under_way.add(child)
        try:
            return await child.drive()
        finally:
            self._under_way.discard(child)

    async def _salvaged(self) -> None:
        """Whoever waits for this run does so no longer: keep what there is, and leave the run open."""
        if not self.journal.is_open(self._scope):
            return
        try:
            self._turns.salvage(CallStatus.CANCELLED, _TOLD_TO_STOP)
            await self.journal.flush()
        except EndstopError:
            return  # the record stands where it was last saved; resuming goes on from there

    def _pick_up(self, reason: Ended) -> None:
        """A worker was left behind in a call that would not end: go on from the record, without it."""
        for child in tuple(self._under_way):
            child.cut()
        if self._stage is None:  # parts are gone on with
            above = StopReason(rule=StopRule.PARENT, message="What it worked for was cut short.")
            for scope in self.journal.recorder.state.ledger.children(self._scope):
                if not self._delegating.holds(scope):
                    self.journal.end(above, scope=scope)
        is_late = reason is Ended.OUT_OF_TIME
        self._turns.salvage(CallStatus.TIMED_OUT if is_late else CallStatus.CANCELLED, _WOULD_NOT_END)
