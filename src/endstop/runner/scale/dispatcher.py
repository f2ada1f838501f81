"""A runner that drives nothing: it writes what a run begins or goes on with, and hands it out.

For servers in front of any number of workers. What a person does to a run (answer, decide, grant, cancel) is
the same as with a runner that drives them itself.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from endstop.errors import RunStateError, StoreError, TooManyError
from endstop.kernel.budget import Grant
from endstop.kernel.limits import words
from endstop.kernel.review import Approved, RunPhase
from endstop.loop.agent import Agent
from endstop.ports import CancelAsked, Clock, Store, StoredRun
from endstop.runner.opening import new_recorder, outcome_of
from endstop.runner.run import Run
from endstop.runner.runner import AgentOf, Runner
from endstop.runner.scale.engine import DEFAULT_QUEUE, Engine, Handed
from endstop.runner.scale.worker import BEAT_S, SILENT_S

MOST_WAITING_PER_USER = 100
"""So many runs of one user may wait; a further one is refused, and says so."""

QUIET_S = 2.25 * BEAT_S
"""A worker that has missed two beats may be dead: time to say so to whoever watches its runs."""

_LOOK_S = 0.25
_RETRY_AFTER_S = 10.0


class Dispatcher(Runner):
    """Hands runs out in place of driving them."""

    is_inline = False

    def __init__(
        self,
        store: Store,
        engine: Engine,
        *,
        clock: Clock,
        agent_of: AgentOf,
        most_waiting_per_user: int = MOST_WAITING_PER_USER,
    ) -> None:
        super().__init__(store, clock=clock, agent_of=agent_of)
        self._kept_in = store
        self._engine = engine
        self._time = clock
        self._agent_for = agent_of
        self._most_waiting = most_waiting_per_user

    @property
    def engine(self) -> Engine:
        """The queue that it hands out on."""
        return self._engine

    async def run(self, agent: Agent, question: str, **options: Any) -> Run:
        return await self.wait(await self.start(agent, question, **options))

    async def start(
        self,
        agent: Agent,
        question: str,
        *,
        user: str | None = None,
        project: str | None = None,
        run_id: str | None = None,
        conversation_id: str | None = None,
        priority: int = 0,
        **_: Any,
    ) -> str:
        """Write how a run begins, and hand it out; its id. An agent that nobody can make anew is refused."""
        recorder = new_recorder(
            agent, question, time=self._time.unix_s(), user=user, project=project, run_id=run_id
        )
        if self._agent_for(recorder.started) is None:
            raise RunStateError(
                f"The agent {agent.name!r} cannot be handed to a worker: its tools are somebody's own code",
                to_do="Run it in this process, or make it known to the workers",
            )
        await self._require_room(user)
        handed = Handed(
            run_id=recorder.run_id,
            queue=queue_of(agent.name),
            priority=priority,
            user=user,
            model=agent.model.name,
        )
        await self._engine.announce(handed)
        await self._kept_in.append(recorder.facts, conversation_id=conversation_id)
        with suppress(StoreError):  # it is on record, and announced: a worker finds it
            await self._engine.hand_out(handed)
        return recorder.run_id

    async def resume(self, run_id: str, **options: Any) -> Run:
        return await self.wait(await self.resume_in_background(run_id, **options))

    async def resume_in_background(
        self, run_id: str, *, grant: Grant | None = None, answer: str | None = None, **_: Any
    ) -> str:
        """Give a run what it waits for, and hand it out again."""
        if answer is not None:
            await self.answer(run_id, answer)
        if grant is not None:
            await self.decide(run_id, Approved(grant=grant))
        stored = await self._kept_in.run(run_id)
        if stored.phase is not RunPhase.RUNNING:
            waits = stored.phase is not RunPhase.ENDED
            raise RunStateError(
                f"The run {run_id} is {stored.phase.value}",
                allowed="runs that were left open, or have what they waited for",
                to_do="Answer it, or decide its review" if waits else "Start a new one",
            )
        await self._engine.hand_out(await self._engine.handed(run_id) or _handed(stored))
        return run_id

    async def cancel(self, run_id: str, *, by: str, after_turn: bool = False) -> bool:
        """As it is there; but whether a worker has the run, the database says. Clocks may be apart."""
        words("by", by)
        if await self._engine.is_held(run_id, silent_s=SILENT_S):
            await self._kept_in.ask_cancel(CancelAsked(run_id=run_id, by=by, after_turn=after_turn))
            return False
        return await super().cancel(run_id, by=by, after_turn=after_turn)

    async def has_worker(self, run_id: str) -> bool:
        """Whether a worker has a run, as far as can be told: it was heard of a moment ago."""
        return await self._engine.is_held(run_id, silent_s=QUIET_S)

    async def wait(self, run_id: str) -> Run:
        """Wait until a run has ended, or waits for a person."""
        while (await self._kept_in.run(run_id)).phase is RunPhase.RUNNING:
            await asyncio.sleep(_LOOK_S)
        facts = await self._kept_in.record(run_id)
        return Run(id=run_id, outcome=outcome_of(facts), facts=tuple(facts))

    async def left_open(self) -> list[StoredRun]:
        """None that this process could go on with: the workers find them."""
        return []

    async def _require_room(self, user: str | None) -> None:
        waiting = await self._engine.waiting_of(user)
        if waiting >= self._most_waiting:
            raise TooManyError(
                f"{waiting:,} runs of yours wait for a worker already",
                allowed=f"at most {self._most_waiting:,} that wait",
                to_do="Wait until some have begun, cancel some, or have more workers started",
                retry_after_s=_RETRY_AFTER_S,
            )


def queue_of(agent: str) -> str:
    """The queue for runs of an agent: workers can be told to take some kinds only."""
    kind = agent.partition(":")[0]
    return kind if kind.isidentifier() else DEFAULT_QUEUE


def _handed(stored: StoredRun) -> Handed:
    return Handed(run_id=stored.run_id, queue=queue_of(stored.agent), user=stored.user, model=stored.model)
