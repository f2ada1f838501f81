"""Sub-agents that run as runs of their own: how they are ended, and what they used (A7).

Needs the store and no queue, so that any process that goes on with a run, or ends it, can see to those that
it has handed out. Only whoever works on the run above may: one that was thought dead and wakes up may not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from endstop.errors import EndstopError, RecordTakenError, RunStateError, StoreError, UnknownRunError
from endstop.events.facts import ChildHandedOut, Fact, RunDelegated, RunStarted
from endstop.events.recorder import Recorder
from endstop.events.summary import summarise
from endstop.kernel.agent import AgentConfig
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import CancelRequested, ChildSettled, RunEnded
from endstop.kernel.outcome import Stopped, StopReason, StopRule
from endstop.kernel.review import RunPhase
from endstop.kernel.usage import NO_USAGE
from endstop.loop.agent import Agent
from endstop.loop.delegating import Delegating
from endstop.loop.elsewhere import Child, Elsewhere, Report, handed_out
from endstop.loop.journal import Journal
from endstop.ports import Clock, Store, StoredRun
from endstop.runner.opening import SOURCE

ABOVE = "the run above it"
"""Who ends a sub-agent that nobody waits for any more."""

LOOK_S = 0.1
"""How often it is looked whether one has ended."""

_ASK_AGAIN_S = 2.0
_FIRST_FACTS = 20
_NEVER_BEGUN = StopReason(rule=StopRule.PARENT, message="It was never begun.")


class Cancels(Protocol):
    """Ends runs, whoever works on them. A runner does."""

    async def cancel(self, run_id: str, *, by: str) -> bool: ...


class Recalling:
    """Ends sub-agents that were handed out, and tells what they used. It hands out none itself."""

    def __init__(self, store: Store, runner: Cancels, *, clock: Clock, owner: str) -> None:
        """``owner`` is this process, as records know it."""
        self._store = store
        self._runner = runner
        self._clock = clock
        self._owner = owner

    def takes(self, agent: Agent, question: str) -> bool:  # noqa: ARG002 - none
        return False

    async def start(self, child: Child, agent: Agent) -> None:  # noqa: ARG002 - none
        raise RunStateError(
            f"{child.agent!r} cannot be handed out: there is no queue of runs here",
            to_do="Run it in this process",
        )

    async def ended(self, child: Child) -> Report:
        """Wait until it has ended. A database that is gone for a while is waited for. One that waits for a
        person is ended: nobody is going to decide about a part of a run."""
        while True:
            with suppress(StoreError):
                stored = await self._store.run(child.run_id)
                if stored.phase is RunPhase.ENDED:
                    return await self._report(child)
                if stored.phase is not RunPhase.RUNNING:
                    return await self.recall(child)
                await self._look_after(child, stored)
            await asyncio.sleep(LOOK_S)

    async def recall(self, child: Child) -> Report:
        """End it, wherever it is. If it was never begun, its record is made to say so: whoever was about to
        begin it finds that it cannot any more."""
        await self._require_ours_to_end(child)
        while not await self._is_begun(child):
            with suppress(RecordTakenError):
                await self._store.append(self._never_begun(child), owner=self._owner)
        if not await self._is_of(child):
            return Report(ending=Stopped(reason=_NEVER_BEGUN), usage=NO_USAGE)
        asked_s = float("-inf")
        while (await self._store.run(child.run_id)).phase is not RunPhase.ENDED:
            if self._clock.monotonic_s() - asked_s >= _ASK_AGAIN_S:
                asked_s = self._clock.monotonic_s()
                with suppress(RunStateError, RecordTakenError):  # it has just ended, or been taken on
                    await self._runner.cancel(child.run_id, by=ABOVE)
            else:
                await asyncio.sleep(LOOK_S)
        return await self._report(child)

    async def _look_after(self, child: Child, stored: StoredRun) -> None:
        """Called now and then while it is waited for."""

    # ── within ────────────────────────────────────────────────────────────────────────────────────────────

    async def _require_ours_to_end(self, child: Child) -> None:
        above = await self._store.run(child.parent)
        if above.owner != self._owner:
            raise RunStateError(
                f"The run {child.parent} is worked on by another process, and its sub-agents are that one's"
            )

    async def _is_begun(self, child: Child) -> bool:
        try:
            await self._store.run(child.run_id)
        except UnknownRunError:
            return False
        return True

    async def _is_of(self, child: Child) -> bool:
        """Whether the run of this name is the one that was handed out, and not another's of the same name."""
        facts = await self._store.record(child.run_id, most=_FIRST_FACTS)
        return any(fact.payload == link_of(child) for fact in facts)

    def _never_begun(self, child: Child) -> list[Fact]:
        now = self._clock.unix_s()
        started = RunStarted(
            config=AgentConfig(),
            user=child.user,
            project=child.project,
            question=child.question,
            agent=child.agent,
        )
        recorder = Recorder(started, run_id=child.run_id, time=now, source=SOURCE)
        recorder.note(link_of(child), time=now)
        recorder.observe(CancelRequested(at_s=0.0, by=ABOVE), time=now)
        cancelled = StopReason(rule=StopRule.CANCELLED, message="Cancelled.")
        recorder.end(cancelled, at_s=0.0, time=now)
        return recorder.facts

    async def _report(self, child: Child) -> Report:
        facts = await self._store.record(child.run_id)
        last = facts[-1].payload
        assert isinstance(last, RunEnded), "it has ended"
        return Report(ending=last.outcome, usage=summarise(facts).usage)


def link_of(child: Child) -> RunDelegated:
    """What the record of a sub-agent says of the run it works for."""
    return RunDelegated(parent=child.parent, parent_scope=child.scope)


def is_delegated(facts: Sequence[Fact]) -> bool:
    """Whether a run is a sub-agent's. It waits for no person: what is above it goes on without."""
    return any(isinstance(fact.payload, RunDelegated) for fact in facts[:_FIRST_FACTS])


async def call_back(journal: Journal, elsewhere: Elsewhere | None) -> None:
    """End the sub-agents of a run that is about to be ended without having been gone on with."""
    if elsewhere is None or not handed_out(journal.recorder):
        return
    await journal.flush()  # it is ours from here on, and so are they
    delegating = Delegating(journal, elsewhere, scope=ROOT, is_to_leave=lambda: False)
    await delegating.call_back()
    await delegating.close()


async def end_unsettled(recorder: Recorder, runner: Cancels) -> None:
    """A run has ended: have those end that did not do so before it. All that they may use counts as used in
    its record already, so nothing is lost where this cannot be done."""
    if len(recorder.endings) < 2:
        return  # it had no scopes at all
    run_of: dict[str, str] = {}
    for fact in recorder.facts:
        match fact.payload:
            case ChildHandedOut(scope=scope, run_id=run_id):
                run_of[scope] = run_id
            case ChildSettled(scope=scope, is_estimate=True):
                with suppress(EndstopError):  # it has ended since, or was never begun
                    await runner.cancel(run_of[scope], by=ABOVE)
            case _:
                pass
