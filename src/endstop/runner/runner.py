"""Where runs live in this process: started, resumed, cancelled, reviewed, answered, recovered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from endstop.errors import EndstopError, RunStateError, UnknownRunError
from endstop.events.bus import Bus
from endstop.events.facts import Fact, RunStarted
from endstop.events.recorder import Recorder
from endstop.events.reviewing import carry_out
from endstop.kernel.budget import Grant
from endstop.kernel.limits import words
from endstop.kernel.observation import BudgetGranted, CancelRequested, RunResumed, UserSaid
from endstop.kernel.outcome import AwaitingUser, StopReason, StopRule, UnderReview
from endstop.kernel.review import Approved, ReviewDecision, RunPhase
from endstop.loop.agent import Agent
from endstop.loop.driver import Driver
from endstop.loop.history import messages_of
from endstop.loop.journal import Journal, Listener
from endstop.ports import AssistantMessage, CancelAsked, Clock, Message, Store, StoredRun
from endstop.runner.opening import (
    last_question,
    new_recorder,
    phase_of,
    reopened,
    require_price,
    require_review,
    taken_over,
)
from endstop.runner.owner import Owner, is_worked_on
from endstop.runner.pulse import Pulse
from endstop.runner.run import Run

AgentOf = Callable[[RunStarted], Agent | None]
"""Makes the agent of a run anew from what its record says of it; None if that cannot be done."""

SHUTDOWN_S = 10.0
"""How long runs may take to finish the turn under way when the process is to end."""


@dataclass(slots=True)
class Live:
    """A run that this process works on."""

    driver: Driver
    journal: Journal
    agent: Agent
    task: asyncio.Task[Run] | None = None


class Runner:
    """Runs agents in this process, with their records in a store (or nowhere, without one)."""

    def __init__(self, store: Store | None, *, clock: Clock, agent_of: AgentOf | None = None) -> None:
        self._store = store
        self._clock = clock
        self._agent_of = agent_of
        self._owner = Owner.this()
        self._live: dict[str, Live] = {}
        self._agents: dict[str, Agent] = {}
        self._pulse = Pulse(store, str(self._owner), clock, self._live, self._cancel_live)
        self._is_closing = False

    # ── start and resume ──────────────────────────────────────────────────────────────────────────────────

    async def run(self, agent: Agent, question: str, **options: Any) -> Run:
        """Start a run and drive it to its outcome. Cancelling this leaves the run open, to be resumed."""
        return await self._drive(await self._opened(agent, question, **options))

    async def start(self, agent: Agent, question: str, **options: Any) -> str:
        """Start a run in the background; its id. ``wait`` waits for it."""
        live = await self._opened(agent, question, **options)
        return self._in_background(live, self._drive(live))

    async def wait(self, run_id: str) -> Run:
        """Wait for a run in the background to end or to pause. Ceasing to wait does not stop it."""
        task = self._require_live(run_id).task
        if task is None:
            raise RunStateError(f"The run {run_id} does not run in the background")
        return await asyncio.shield(task)

    async def resume(
        self,
        run_id: str,
        *,
        agent: Agent | None = None,
        grant: Grant | None = None,
        answer: str | None = None,
        takes_over: bool = False,
        listener: Listener | None = None,
        bus: Bus | None = None,
    ) -> Run:
        """Go on with a run that is paused or was left open: every counter and the clock as they stood.

        ``grant`` approves the review it waits for; ``answer`` answers what its agent asked.
        """
        live = await self._reopened(
            run_id, agent=agent, grant=grant, answer=answer, takes_over=takes_over, listener=listener, bus=bus
        )
        return await self._drive(live)

    async def resume_in_background(self, run_id: str, **options: Any) -> str:
        """The same, in the background."""
        live = await self._reopened(run_id, **options)
        return self._in_background(live, self._drive(live))

    # ── from outside ──────────────────────────────────────────────────────────────────────────────────────

    async def cancel(self, run_id: str, *, by: str, after_turn: bool = False) -> bool:
        """End a run, now or after its turn. True if it is done; False if its process has been asked to."""
        words("by", by)
        if run_id in self._live:
            self._cancel_live(CancelAsked(run_id=run_id, by=by, after_turn=after_turn))
            return True
        store = self._require_store(run_id)
        stored = await store.run(run_id)
        if stored.phase is RunPhase.RUNNING and is_worked_on(stored, now=self._clock.unix_s()):
            await store.ask_cancel(CancelAsked(run_id=run_id, by=by, after_turn=after_turn))
            return False
        recorder = reopened(await store.record(run_id), self._agents.get(run_id))
        journal = self._journal(recorder)
        taken_over(recorder, str(self._owner), time=journal.unix_s)
        journal.enter(CancelRequested(at_s=journal.now_s, by=by))
        journal.end(StopReason(rule=StopRule.CANCELLED, message="Cancelled."))
        await journal.flush()
        return True

    async def decide(self, run_id: str, decision: ReviewDecision) -> ReviewDecision:
        """Decide the review a run waits for. Returns what counts: a grant past the cap is a rejection."""
        store = self._require_store(run_id)
        recorder = reopened(await store.record(run_id), self._agents.get(run_id))
        review = require_review(recorder)
        journal = self._journal(recorder)
        journal.enter(RunResumed(at_s=recorder.state.now_s))
        decided = carry_out(recorder, review, decision, at_s=recorder.state.now_s, time=journal.unix_s)
        await journal.flush()
        return decided

    async def answer(self, run_id: str, text: str) -> None:
        """Answer what a run's agent asked the user. The run can be resumed then."""
        words("answer", text)
        recorder = reopened(await self._require_store(run_id).record(run_id), self._agents.get(run_id))
        if phase_of(recorder) is not RunPhase.AWAIT_USER:
            raise RunStateError(f"The run {run_id} asks the user nothing", allowed="runs in AWAIT_USER")
        journal = self._journal(recorder)
        _answered(recorder, text, time=journal.unix_s)
        await journal.flush()

    async def grant(self, run_id: str, grant: Grant) -> None:
        """More budget for a run that is under way here, or under review."""
        live = self._live.get(run_id)
        if live is None:
            await self.decide(run_id, Approved(grant=grant))
        else:
            live.journal.enter(BudgetGranted(at_s=live.journal.now_s, grant=grant))

    # ── after a crash, and before the end ─────────────────────────────────────────────────────────────────

    async def left_open(self) -> list[StoredRun]:
        """The runs whose process has died."""
        if self._store is None:
            return []
        now = self._clock.unix_s()
        running = await self._store.runs(phases=(RunPhase.RUNNING,), most=1_000)
        return [run for run in running if run.run_id not in self._live and not is_worked_on(run, now=now)]

    async def recover(self) -> list[str]:
        """Go on, in the background, with every run left open whose agent can be made anew."""
        resumed: list[str] = []
        for stored in await self.left_open():
            try:
                resumed.append(await self.resume_in_background(stored.run_id))
            except EndstopError:
                continue  # somebody else has taken it, or its agent cannot be made anew: it stays as it is
        return resumed

    async def shutdown(self, *, seconds: float = SHUTDOWN_S) -> None:
        """Let every run finish its turn, then leave it open to be resumed. What takes longer is cut off."""
        self._is_closing = True
        tasks = {live.task for live in self._live.values() if live.task is not None}
        for live in self._live.values():
            live.driver.is_to_leave = True
        if tasks:
            _, slow = await asyncio.wait(tasks, timeout=seconds)
            for task in slow:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._pulse.stop()

    def bus(self, run_id: str) -> Bus:
        """The bus of a run that is under way here."""
        return self._require_live(run_id).journal.bus

    # ── within ────────────────────────────────────────────────────────────────────────────────────────────

    async def _opened(
        self,
        agent: Agent,
        question: str,
        *,
        user: str | None = None,
        project: str | None = None,
        run_id: str | None = None,
        conversation_id: str | None = None,
        listener: Listener | None = None,
        bus: Bus | None = None,
    ) -> Live:
        recorder = new_recorder(
            agent, question, time=self._clock.unix_s(), user=user, project=project, run_id=run_id
        )
        before = await self._said_before(conversation_id, recorder.run_id)
        journal = self._journal(recorder, listener=listener, bus=bus, conversation_id=conversation_id)
        journal.save_from_start()
        await journal.flush()
        return self._enlisted(journal, agent, before)

    async def _reopened(
        self,
        run_id: str,
        *,
        agent: Agent | None = None,
        grant: Grant | None = None,
        answer: str | None = None,
        takes_over: bool = False,
        listener: Listener | None = None,
        bus: Bus | None = None,
    ) -> Live:
        store = self._require_store(run_id)
        stored = await store.run(run_id)
        self._require_unowned(stored, takes_over=takes_over)
        facts = await store.record(run_id)
        agent = agent or self._agents.get(run_id) or self._made_anew(facts)
        recorder = reopened(facts, agent)
        require_price(agent)
        journal = self._journal(recorder, listener=listener, bus=bus)
        self._woken(recorder, grant, answer, time=journal.unix_s)
        if not recorder.state.is_over:
            taken_over(recorder, str(self._owner), time=journal.unix_s)
        await journal.flush()
        return self._enlisted(journal, agent, await self._said_before(stored.conversation_id, run_id))

    def _woken(self, recorder: Recorder, grant: Grant | None, answer: str | None, *, time: float) -> None:
        """Give a paused run what it waits for. What it does not wait for is refused."""
        phase = phase_of(recorder)
        if phase is RunPhase.BUDGET_REVIEW:
            review = require_review(recorder)
            if grant is None:
                raise RunStateError(
                    f"The run {recorder.run_id} waits for a review: {review.why}",
                    to_do=f"Decide it (`endstop review {recorder.run_id}`), or resume it with a grant",
                )
            at_s = recorder.state.now_s
            recorder.observe(RunResumed(at_s=at_s), time=time)
            carry_out(recorder, review, Approved(grant=grant), at_s=at_s, time=time)
        elif phase is RunPhase.AWAIT_USER:
            if answer is None:
                raise RunStateError(
                    f"The run {recorder.run_id} waits for the user: {last_question(recorder.facts)}",
                    to_do="Resume it with an answer",
                )
            _answered(recorder, answer, time=time)
            self._granted(recorder, grant, time=time)
        elif answer is not None:
            raise RunStateError(
                f"The run {recorder.run_id} asks the user nothing", to_do="Leave the answer out"
            )
        else:
            self._granted(recorder, grant, time=time)

    def _granted(self, recorder: Recorder, grant: Grant | None, *, time: float) -> None:
        if grant is not None:
            recorder.observe(BudgetGranted(at_s=recorder.state.now_s, grant=grant), time=time)

    def _made_anew(self, facts: list[Fact]) -> Agent:
        started = facts[0].payload if facts else None
        made = self._agent_of(started) if self._agent_of and isinstance(started, RunStarted) else None
        if made is None:
            name = started.agent if isinstance(started, RunStarted) else "?"
            raise RunStateError(
                f"The agent {name!r} of this run cannot be made anew here: its tools are somebody's own code",
                to_do="Resume it from the program that started it, with agent=… or model=… and tools=…",
            )
        return made

    def _require_unowned(self, stored: StoredRun, *, takes_over: bool) -> None:
        if takes_over or stored.phase is not RunPhase.RUNNING:
            return
        if stored.run_id in self._live or is_worked_on(stored, now=self._clock.unix_s()):
            owner = Owner.read(stored.owner)
            where = f"process {owner.process}" if owner is not None else "this process"
            raise RunStateError(
                f"The run {stored.run_id} is being worked on by {where}",
                to_do=f"Wait for it, or cancel it first: `endstop cancel {stored.run_id}`",
            )

    def _journal(
        self,
        recorder: Recorder,
        *,
        listener: Listener | None = None,
        bus: Bus | None = None,
        conversation_id: str | None = None,
    ) -> Journal:
        return Journal(
            recorder,
            clock=self._clock,
            store=self._store,
            owner=str(self._owner),
            bus=bus,
            listener=listener,
            conversation_id=conversation_id,
        )

    def _enlisted(self, journal: Journal, agent: Agent, before: list[Message]) -> Live:
        messages = [*before, *messages_of(journal.recorder.facts)]
        driver = Driver(journal, agent, messages=messages)
        driver.is_to_leave = self._is_closing
        live = Live(driver, journal, agent)
        self._live[journal.run_id] = live
        self._agents[journal.run_id] = agent
        self._pulse.start()
        return live

    async def _drive(self, live: Live) -> Run:
        run_id = live.journal.run_id
        try:
            outcome = live.journal.recorder.state.ending or await live.driver.drive()
        finally:
            self._live.pop(run_id, None)
            if not self._live:
                await self._pulse.stop()
        if not isinstance(outcome, UnderReview | AwaitingUser | None):
            self._agents.pop(run_id, None)
        return Run(
            id=run_id,
            outcome=outcome,
            facts=tuple(live.journal.recorder.facts),
            result=live.driver.result,
            detectors=live.agent.detectors,
        )

    def _in_background(self, live: Live, driving: Coroutine[Any, Any, Run]) -> str:
        live.task = asyncio.get_running_loop().create_task(driving)
        return live.journal.run_id

    def _cancel_live(self, asked: CancelAsked) -> None:
        live = self._live.get(asked.run_id)
        if live is None or live.journal.recorder.state.is_over:
            return
        cancel = CancelRequested(at_s=live.journal.now_s, by=asked.by, after_turn=asked.after_turn)
        live.journal.enter(cancel)
        if not asked.after_turn:
            live.driver.cut()

    async def _said_before(self, conversation_id: str | None, run_id: str) -> list[Message]:
        """What was said in the conversation before this run: each question, and its answer."""
        if conversation_id is None or self._store is None:
            return []
        messages: list[Message] = []
        for earlier in (await self._store.conversation(conversation_id)).run_ids:
            if earlier == run_id:
                break
            facts = await self._store.record(earlier)
            run = Run(id=earlier, outcome=reopened_ending(facts), facts=tuple(facts))
            first = messages_of(facts[:1])
            answer = run.answer
            messages += [*first, AssistantMessage(text=answer)] if answer else first
        return messages

    def _require_live(self, run_id: str) -> Live:
        live = self._live.get(run_id)
        if live is None:
            raise UnknownRunError(f"No run {run_id} is under way in this process")
        return live

    def _require_store(self, run_id: str) -> Store:
        if self._store is None:
            raise UnknownRunError(
                f"There is no run {run_id}: runs are not kept here", to_do="Open a runner with a store"
            )
        return self._store


def reopened_ending(facts: list[Fact]) -> Any:
    """How a record ended, if it did."""
    return getattr(facts[-1].payload, "outcome", None) if facts else None


def _answered(recorder: Recorder, text: str, *, time: float) -> None:
    at_s = recorder.state.now_s
    recorder.observe(RunResumed(at_s=at_s), time=time)
    recorder.observe(UserSaid(at_s=at_s, text=text), time=time)
