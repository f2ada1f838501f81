"""Where runs live in this process: started, resumed, cancelled, reviewed, answered, recovered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from endstop.errors import EndstopError, FactOrderError, RunStateError, StoreError, UnknownRunError, cause
from endstop.events.bus import Bus
from endstop.events.facts import Fact, RunStarted
from endstop.events.recorder import Recorder
from endstop.events.reviewing import carry_out, withdraw_review
from endstop.kernel.budget import Grant
from endstop.kernel.limits import words
from endstop.kernel.observation import BudgetGranted, CancelRequested, RunResumed
from endstop.kernel.outcome import AwaitingUser, StopReason, StopRule, UnderReview
from endstop.kernel.review import Approved, ReviewDecision, RunPhase
from endstop.loop.agent import Agent
from endstop.loop.driver import Driver
from endstop.loop.elsewhere import Elsewhere
from endstop.loop.history import messages_of
from endstop.loop.journal import Journal, Listener
from endstop.ports import AssistantMessage, CancelAsked, Clock, Message, Store, StoredRun
from endstop.runner.opening import (
    lived_on_s,
    new_recorder,
    outcome_of,
    phase_of,
    reopened,
    require_price,
    require_review,
    require_sensible,
    taken_over,
)
from endstop.runner.owner import LET_GO_AT, Owner, is_worked_on
from endstop.runner.pulse import Pulse
from endstop.runner.recalling import Recalling, call_back, end_unsettled, is_delegated
from endstop.runner.run import Run
from endstop.runner.saved import OnSaved, Told
from endstop.runner.waking import asks_nothing, hand_answer, wake

AgentOf = Callable[[RunStarted], Agent | None]
"""Makes the agent of a run anew from what its record says of it; None if that cannot be done."""

SHUTDOWN_S = 10.0
"""How long runs may take to finish the turn under way when the process is to end."""

_CUT_S = 1.0
"""How long a turn that was cut off may take to be put on record."""

_MOST_KEPT = 256
"""Of so many runs in the background the results are kept for whoever waits; of older ones, the record."""


@dataclass(slots=True)
class Live:
    """A run that this process works on."""

    driver: Driver
    journal: Journal
    agent: Agent
    is_left: asyncio.Future[None]
    """Done when this process works on it no longer."""


class Runner:
    """Runs agents in this process, with their records in a store (or nowhere, without one)."""

    is_inline = True
    """It drives runs itself, in this process."""

    def __init__(self, store: Store | None, *, clock: Clock, agent_of: AgentOf | None = None) -> None:
        self._store = store
        self._clock = clock
        self._agent_of = agent_of
        self.owner = str(Owner.this())
        """This process, as records know it."""
        self._live: dict[str, Live] = {}
        self._tasks: dict[str, asyncio.Task[Run]] = {}
        self._agents: dict[str, Agent] = {}
        self._pulse = Pulse(store, self.owner, clock, self._live, self._cancel_live)
        self._is_closing = False
        self.elsewhere: Elsewhere | None = None
        """Where sub-agents can be handed to. At first, nowhere; those that others handed out can be ended."""
        if store is not None:
            self.elsewhere = Recalling(store, self, clock=clock, owner=self.owner)

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
        task = self._tasks.get(run_id)
        if task is not None:
            return await asyncio.shield(task)
        facts = await self._require_store(run_id).record(run_id)
        outcome = outcome_of(facts)
        if outcome is None:
            raise RunStateError(
                f"The run {run_id} does not run in the background of this process",
                to_do="Whoever called run or resume gets it back; runs left open can be resumed",
            )
        return Run(id=run_id, outcome=outcome, facts=tuple(facts))

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
        recorder = await self._read_again(run_id)
        agent = self._conducted(recorder)
        journal = self._journal(recorder)
        lived_s = lived_on_s(stored, recorder.facts)
        taken_over(recorder, self.owner, time=journal.unix_s, lived_s=lived_s, agent=agent)
        withdraw_review(recorder, by=by, time=journal.unix_s)
        journal.enter(CancelRequested(at_s=journal.now_s, by=by))
        if agent is not None:  # it has work to save before it ends
            await self._drive(await self._enlisted(self._made(journal, agent, [])))
            return True
        await call_back(journal, self.elsewhere)
        journal.end(StopReason(rule=StopRule.CANCELLED, message="Cancelled."))
        await journal.flush()
        await end_unsettled(recorder, self)
        return True

    async def decide(self, run_id: str, decision: ReviewDecision) -> ReviewDecision:
        """Decide the review a run waits for. Returns what counts. A grant past the cap is refused."""
        self._require_not_live(run_id)
        recorder = await self._read_again(run_id)
        waiting = require_review(recorder)
        require_sensible(recorder, waiting.scope, decision)
        journal = self._journal(recorder, is_ours=False)
        journal.enter(RunResumed(at_s=recorder.state.now_s))
        decided = carry_out(
            recorder,
            waiting.review,
            decision,
            at_s=recorder.state.now_s,
            time=journal.unix_s,
            scope=waiting.scope,
        )
        await journal.flush()
        return decided

    async def answer(self, run_id: str, text: str) -> None:
        """Answer what a run's agent asked the user. The run can be resumed then."""
        words("answer", text)
        recorder = await self._read_again(run_id)
        if phase_of(recorder) is not RunPhase.AWAIT_USER:
            raise asks_nothing(run_id)
        journal = self._journal(recorder, is_ours=False)
        hand_answer(recorder, text, time=journal.unix_s)
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
        """The runs whose process has died. None for a runner that is about to end: others go on with them."""
        if self._store is None or self._is_closing:
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
        for live in self._live.values():
            live.driver.is_to_leave = True
        await self._left(seconds)
        for live in self._live.values():
            live.driver.cut()
        await self._left(_CUT_S)
        slow = [task for task in self._tasks.values() if not task.done()]
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
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
        on_saved: OnSaved | None = None,
    ) -> Live:
        recorder = new_recorder(
            agent, question, time=self._clock.unix_s(), user=user, project=project, run_id=run_id
        )
        before = await self._said_before(conversation_id, recorder.run_id)
        journal = self._journal(
            recorder, listener=listener, bus=bus, conversation_id=conversation_id, on_saved=on_saved
        )
        journal.save_from(0)
        live = self._made(journal, agent, before)
        return await self._enlisted(live)

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
        on_saved: OnSaved | None = None,
    ) -> Live:
        store = self._require_store(run_id)
        self._require_not_live(run_id)
        stored = await store.run(run_id)
        self._require_unowned(stored, takes_over=takes_over)
        facts = await store.record(run_id)
        self._tasks.pop(run_id, None)
        agent = agent or self._agents.get(run_id) or self._made_anew(facts)
        recorder = reopened(facts, agent)
        agent = replace(agent, config=recorder.started.config)  # what it was started with holds
        require_price(agent)
        wake(recorder, grant, answer, time=self._clock.unix_s())
        if not recorder.state.is_over:
            lived_s = lived_on_s(stored, facts)
            taken_over(recorder, self.owner, time=self._clock.unix_s(), lived_s=lived_s, agent=agent)
        journal = self._journal(recorder, listener=listener, bus=bus, on_saved=on_saved)
        journal.save_from(len(facts))
        live = self._made(journal, agent, await self._said_before(stored.conversation_id, run_id))
        return await self._enlisted(live)

    def _made_anew(self, facts: list[Fact]) -> Agent:
        started = facts[0].payload
        if not isinstance(started, RunStarted):
            raise FactOrderError(f"The record begins with {facts[0].type}", allowed="run.started first")
        why = "its tools are somebody's own code"
        try:
            made = None if self._agent_of is None else self._agent_of(started)
        except EndstopError:
            raise
        except Exception as error:  # noqa: BLE001 - whoever makes agents may fail with anything
            made, why = None, f"making it failed with {cause(error)}"
        if made is None:
            raise RunStateError(
                f"The agent {started.agent!r} of this run cannot be made anew here: {why}",
                to_do="Resume it from the program that started it, with agent=… or model=… and tools=…",
            )
        return made

    async def _read_again(self, run_id: str) -> Recorder:
        """The record of a run that nobody drives here, judged by detectors of its own if it had some."""
        facts = await self._require_store(run_id).record(run_id)
        self._tasks.pop(run_id, None)  # what came of it is not the last word any more
        agent = self._agents.get(run_id)
        if agent is None and getattr(facts[0].payload, "detectors", None) is not None:
            agent = self._made_anew(facts)
        return reopened(facts, agent)

    def _conducted(self, recorder: Recorder) -> Agent | None:
        """The agent of a run that is taken through parts, if it can be made anew."""
        if "conducting" not in recorder.started.own_parts:
            return None
        with suppress(EndstopError):
            return self._agents.get(recorder.run_id) or self._made_anew(recorder.facts)
        return None

    def _require_not_live(self, run_id: str) -> None:
        if run_id in self._live:
            raise RunStateError(
                f"The run {run_id} is being worked on by this process",
                to_do="Wait for it to end or to pause, or cancel it",
            )

    def _require_unowned(self, stored: StoredRun, *, takes_over: bool) -> None:
        if takes_over or stored.phase is not RunPhase.RUNNING:
            return
        if is_worked_on(stored, now=self._clock.unix_s()):
            owner = Owner.read(stored.owner)
            assert owner is not None, "somebody works on it"
            raise RunStateError(
                f"The run {stored.run_id} is being worked on by process {owner.process}",
                to_do=f"Wait for it, or cancel it first: `endstop cancel {stored.run_id}`",
            )

    def _journal(
        self,
        recorder: Recorder,
        *,
        listener: Listener | None = None,
        bus: Bus | None = None,
        conversation_id: str | None = None,
        on_saved: OnSaved | None = None,
        is_ours: bool = True,
    ) -> Journal:
        """``is_ours``: this process works on the run from now on, and others keep away from it."""
        store = self._store
        if store is not None and on_saved is not None:
            store = cast("Store", Told(store, on_saved))  # a journal only appends
        return Journal(
            recorder,
            clock=self._clock,
            store=store,
            owner=self.owner if is_ours else None,
            bus=bus,
            listener=listener,
            conversation_id=conversation_id,
        )

    def _made(self, journal: Journal, agent: Agent, before: list[Message]) -> Live:
        """What drives a run. Made before anything is saved: an agent that cannot be driven starts no run."""
        may_pause = not is_delegated(journal.recorder.facts)
        driver = Driver(journal, agent, before=before, may_pause=may_pause, elsewhere=self.elsewhere)
        return Live(driver, journal, agent, asyncio.get_running_loop().create_future())

    async def _enlisted(self, live: Live) -> Live:
        """Save that this process works on it. If that is cut short or fails, another may go on with it."""
        try:
            await live.journal.flush()
        except BaseException:
            await self._let_go(live, has_ended=False)
            raise
        live.driver.is_to_leave = self._is_closing
        self._live[live.journal.run_id] = live
        self._agents[live.journal.run_id] = live.agent
        self._pulse.start()
        return live

    async def _drive(self, live: Live) -> Run:
        run_id = live.journal.run_id
        has_ended = False
        try:
            outcome = live.journal.recorder.state.ending or await live.driver.drive()
            has_ended = not isinstance(outcome, UnderReview | AwaitingUser | None)
        finally:
            await self._let_go(live, has_ended=has_ended)
        if has_ended:
            self._agents.pop(run_id, None)
            await end_unsettled(live.journal.recorder, self)
        return Run(
            id=run_id,
            outcome=outcome,
            facts=tuple(live.journal.recorder.facts),
            result=live.driver.result,
            detectors=live.agent.detectors,
        )

    async def _let_go(self, live: Live, *, has_ended: bool) -> None:
        """This process works on a run no longer; if it has not ended, another may go on with it at once."""
        self._live.pop(live.journal.run_id, None)
        try:
            if not has_ended and self._store is not None:
                # whoever is told to stop twice hangs up; others can go on with the run all the same
                await asyncio.shield(self._give_back(live, self._store))
            if not self._live:
                await self._pulse.stop()
        finally:
            live.is_left.set_result(None)

    async def _give_back(self, live: Live, store: Store) -> None:
        with suppress(StoreError):  # whoever wants it waits until our last beat is stale
            await live.journal.settled()  # an append that came later would count as a beat
            await store.beat(self.owner, (live.journal.run_id,), at=LET_GO_AT)

    async def _left(self, seconds: float) -> None:
        """Wait until every run that is under way has been left, but no longer than that."""
        waited_for = [live.is_left for live in self._live.values()]
        if waited_for:
            await asyncio.wait(waited_for, timeout=seconds)

    def _in_background(self, live: Live, driving: Coroutine[Any, Any, Run]) -> str:
        run_id = live.journal.run_id
        task = asyncio.get_running_loop().create_task(driving)
        task.add_done_callback(_looked_at)
        _forget_oldest(self._tasks, keep=_MOST_KEPT)
        self._tasks[run_id] = task
        return run_id

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
            run = Run(id=earlier, outcome=outcome_of(facts), facts=tuple(facts))
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


def _looked_at(task: asyncio.Task[Run]) -> None:
    """Whoever waits for a run hears what it failed with; if nobody does, its record tells."""
    if not task.cancelled():
        task.exception()


def _forget_oldest(tasks: dict[str, asyncio.Task[Run]], *, keep: int) -> None:
    ended = [run_id for run_id, task in tasks.items() if task.done()]
    for run_id in ended[: max(len(ended) - keep, 0)]:
        del tasks[run_id]
