"""A runner that runs nothing: it writes what a run begins or goes on with, and hands it out.

For servers before any number of workers. What a person does to a run (answer, decide, grant, cancel) is the
same as with a runner that runs them itself.
"""

from __future__ import annotations

import asyncio
from typing import Any

from endstop.errors import RunStateError, TooManyError
from endstop.kernel.budget import Grant
from endstop.kernel.outcome import Outcome
from endstop.kernel.review import Approved, ReviewDecision, RunPhase
from endstop.loop.agent import Agent
from endstop.ports import Clock, Store, StoredRun
from endstop.runner.opening import new_recorder, outcome_of
from endstop.runner.run import Run
from endstop.runner.runner import AgentOf, Runner
from endstop.runner.scale.engine import DEFAULT_QUEUE, Engine, Handed

MOST_WAITING_PER_USER = 100
"""So many runs of one user may wait; a further one is refused, and says so."""

_LOOK_S = 0.25
_RETRY_AFTER_S = 10.0


class Dispatcher:
    """Hands runs out. It has the same calls as a runner, save that nothing is driven here."""

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
        self._store = store
        self._engine = engine
        self._clock = clock
        self._agent_of = agent_of
        self._most_waiting = most_waiting_per_user
        self._runner = Runner(store, clock=clock, agent_of=agent_of)

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
        """Write the first fact of a run, and hand it out; its id. What cannot be made anew is refused."""
        recorder = new_recorder(
            agent, question, time=self._clock.unix_s(), user=user, project=project, run_id=run_id
        )
        if self._agent_of(recorder.started) is None:
            raise RunStateError(
                f"The agent {agent.name!r} cannot be handed to a worker: its tools are somebody's own code",
                to_do="Run it in this process, or make it known to the workers",
            )
        await self._require_room(user)
        await self._store.append(recorder.facts, conversation_id=conversation_id)
        await self._engine.hand_out(
            Handed(
                run_id=recorder.run_id,
                queue=queue_of(agent.name),
                priority=priority,
                user=user,
                model=agent.model.name,
            )
        )
        return recorder.run_id

    async def resume_in_background(
        self, run_id: str, *, grant: Grant | None = None, answer: str | None = None, **_: Any
    ) -> str:
        """Give a run what it waits for, and hand it out again."""
        if answer is not None:
            await self._runner.answer(run_id, answer)
        if grant is not None:
            await self._runner.decide(run_id, Approved(grant=grant))
        stored = await self._store.run(run_id)
        if stored.phase is not RunPhase.RUNNING:
            waits = stored.phase is not RunPhase.ENDED
            raise RunStateError(
                f"The run {run_id} is {stored.phase.value}",
                allowed="runs that were left open, or have what they waited for",
                to_do="Answer it, or decide its review" if waits else "Start a new one",
            )
        await self._engine.hand_out(await self._handed(stored))
        return run_id

    async def wait(self, run_id: str) -> Run:
        """Wait until a run has ended, or waits for a person."""
        while True:
            stored = await self._store.run(run_id)
            if stored.phase is not RunPhase.RUNNING:
                facts = await self._store.record(run_id)
                outcome: Outcome | None = outcome_of(facts)
                if outcome is not None:
                    return Run(id=run_id, outcome=outcome, facts=tuple(facts))
            await asyncio.sleep(_LOOK_S)

    async def cancel(self, run_id: str, *, by: str, after_turn: bool = False) -> bool:
        return await self._runner.cancel(run_id, by=by, after_turn=after_turn)

    async def decide(self, run_id: str, decision: ReviewDecision) -> ReviewDecision:
        return await self._runner.decide(run_id, decision)

    async def answer(self, run_id: str, text: str) -> None:
        await self._runner.answer(run_id, text)

    async def grant(self, run_id: str, grant: Grant) -> None:
        await self._runner.grant(run_id, grant)

    async def left_open(self) -> list[StoredRun]:
        """None: the workers find them."""
        return []

    async def shutdown(self, *, seconds: float = 0.0) -> None:  # noqa: ARG002 - nothing runs here
        await self._runner.shutdown()

    async def _require_room(self, user: str | None) -> None:
        waiting = await self._engine.waiting_of(user)
        if waiting >= self._most_waiting:
            raise TooManyError(
                f"{waiting:,} runs of yours wait for a worker already",
                allowed=f"at most {self._most_waiting:,} that wait",
                to_do="Wait until some have begun, cancel some, or start more workers",
                retry_after_s=_RETRY_AFTER_S,
            )

    async def _handed(self, stored: StoredRun) -> Handed:
        known = await self._engine.handed(stored.run_id)
        return known or Handed(
            run_id=stored.run_id, queue=queue_of(stored.agent), user=stored.user, model=stored.model
        )


def queue_of(agent: str) -> str:
    """The queue for runs of an agent: workers can be told to take some kinds only."""
    kind = agent.partition(":")[0]
    return kind if kind.isidentifier() else DEFAULT_QUEUE
