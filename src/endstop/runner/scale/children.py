"""Sub-agents on other workers: handed out as runs of their own, like any other run (A7, H5).

Whoever waits for one holds a worker's place and does nothing with it. So if no other worker takes it within
a moment, the one that waits drives it: workers full of runs that wait for sub-agents do not stand still.
"""

from __future__ import annotations

from endstop.errors import EndstopError, StoreError
from endstop.kernel.review import RunPhase
from endstop.loop.agent import Agent
from endstop.loop.elsewhere import Child, Report
from endstop.ports import Clock, Store, StoredRun
from endstop.runner.opening import new_recorder
from endstop.runner.recalling import Recalling, link_of
from endstop.runner.runner import AgentOf, Runner
from endstop.runner.scale.dispatcher import queue_of
from endstop.runner.scale.engine import Engine, Handed

PATIENCE_S = 2.0
"""How long a sub-agent may wait in its queue before the one that waits for it drives it."""


class Children(Recalling):
    """Hands out the sub-agents of the runs that a worker drives."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        runner: Runner,
        *,
        clock: Clock,
        agent_of: AgentOf,
        patience_s: float = PATIENCE_S,
    ) -> None:
        super().__init__(store, runner, clock=clock, owner=runner.owner)
        self._engine = engine
        self._drives = runner
        self._agent_of = agent_of
        self.patience_s = patience_s
        self._looked_at: dict[str, float] = {}
        """When it was last looked whether anybody has taken one, by its run."""

    def takes(self, agent: Agent, question: str) -> bool:
        """Whether workers can make this agent anew. A pipeline begins its work before it is a run: not it."""
        if agent.conducting is not None:
            return False
        try:
            return self._agent_of(new_recorder(agent, question, time=0.0).started) is not None
        except Exception:  # noqa: BLE001 - whoever makes agents may fail with anything; then it runs here
            return False

    async def start(self, child: Child, agent: Agent) -> None:
        """Before others, for somebody waits for it who holds a place."""
        now = self._clock.unix_s()
        recorder = new_recorder(
            agent, child.question, time=now, user=child.user, project=child.project, run_id=child.run_id
        )
        recorder.note(link_of(child), time=now)
        await self._store.append(recorder.facts)
        above = await self._engine.handed(child.parent)
        handed = Handed(
            run_id=child.run_id,
            queue=queue_of(agent.name),
            priority=1 if above is None else above.priority + 1,
            user=child.user,
            model=agent.model.name,
        )
        await self._engine.hand_out(handed)

    async def ended(self, child: Child) -> Report:
        self._looked_at[child.run_id] = self._clock.monotonic_s()
        try:
            report = await super().ended(child)
        finally:
            del self._looked_at[child.run_id]
        await self._forget(child)
        return report

    async def recall(self, child: Child) -> Report:
        report = await super().recall(child)
        await self._forget(child)
        return report

    async def _look_after(self, child: Child, stored: StoredRun) -> None:
        """Drive it here if nobody else does."""
        run_id, now_s = child.run_id, self._clock.monotonic_s()
        if now_s - self._looked_at[run_id] < self.patience_s:
            return
        self._looked_at[run_id] = now_s
        if not await self._engine.take_back(run_id):
            return
        await self._engine.forget(run_id)  # or it would be handed out again, as lost
        try:
            await self._drives.resume_in_background(run_id)
            await self._drives.wait(run_id)
        except EndstopError:
            return  # somebody has it after all
        if (await self._store.run(run_id)).phase is RunPhase.RUNNING:  # left open: this process is to end
            handed = Handed(
                run_id=run_id, queue=queue_of(stored.agent), priority=1, user=stored.user, model=stored.model
            )
            await self._engine.hand_out(handed)

    async def _forget(self, child: Child) -> None:
        """It has ended, whoever ended it: the queue need not know of it any more."""
        try:
            await self._engine.forget(child.run_id)
        except StoreError:
            return  # whoever is given it finds that it has ended
