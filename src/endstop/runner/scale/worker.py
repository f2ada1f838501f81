"""A worker: takes runs out of the queues and drives them, until it is told to end.

It is an ordinary runner that is handed its runs. When it is told to end it finishes the turns under way and
hands the runs back. When it dies, others find its runs by its silence. When it was only thought dead, and
wakes up, the store refuses its next append, and it lets go of the run without a trace.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from contextlib import suppress

from procrastinate.exceptions import ConnectorException
from procrastinate.worker import Worker as EngineWorker

from endstop.errors import (
    EndstopError,
    RecordTakenError,
    StoreError,
    UnknownRunError,
    brief,
)
from endstop.kernel.outcome import AwaitingUser, UnderReview
from endstop.kernel.review import RunPhase
from endstop.ports import Store
from endstop.runner.runner import Runner
from endstop.runner.scale.engine import Engine, Handed
from endstop.runner.scale.places import Places
from endstop.runner.scale.telling import Teller

BEAT_S = 2.0
"""How often a worker says that it is alive."""

SILENT_S = 8.0
"""A worker that has not said so for this long is taken for dead. A false alarm costs a turn, and no more."""

DRAIN_S = 60.0
"""How long the turns under way may take when a worker is told to end."""

_PARKED_S = 15.0
"""A run that cannot be gone on with here (this worker is too old for it, or cannot make its agent) waits so
long for another worker, or for better times."""
_AGAIN_S = 1.0
_POLL_S = 1.0

_BEATS_TO_SHOW = 2

_log = logging.getLogger("endstop.worker")


class Worker:
    """Works on runs that are handed out."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        runner: Runner,
        *,
        concurrency: int = 8,
        queues: Sequence[str] | None = None,
        per_user: int | None = None,
        per_model: int | None = None,
        beat_s: float = BEAT_S,
        silent_s: float = SILENT_S,
    ) -> None:
        self._store = store
        self._engine = engine
        self._runner = runner
        self._concurrency = concurrency
        self._queues = queues
        self._places = Places(engine, per_user=per_user, per_model=per_model, silent_s=silent_s)
        self._beat_s = beat_s
        self._silent_s = silent_s
        self._teller = Teller(engine.address)
        self._engine_worker: EngineWorker | None = None
        self._is_ending = False
        self._in_hand: set[str] = set()
        """The runs that this worker was given, and knows of."""
        self._astray: frozenset[str] = frozenset()
        engine.register(self._work)

    async def run(self) -> None:
        """Work until ``drain`` is called. A database that is gone for a while is waited for."""
        self._teller.start()
        looking = asyncio.create_task(self._look_after_the_dead())
        try:
            while not self._is_ending:
                with suppress(ConnectorException, OSError):
                    await self._work_for_a_while()
                if not self._is_ending:
                    await asyncio.sleep(_AGAIN_S)
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            await self._teller.stop()

    async def _work_for_a_while(self) -> None:
        """Until it is told to end, or the engine has lost its database."""
        self._engine_worker = EngineWorker(
            self._engine.app,
            queues=self._queues,
            concurrency=self._concurrency,
            delete_jobs="always",
            install_signal_handlers=False,
            fetch_job_polling_interval=_POLL_S,
            update_heartbeat_interval=self._beat_s,
            stalled_worker_timeout=10 * self._silent_s,
        )
        await self._engine_worker.run()

    async def drain(self, *, seconds: float = DRAIN_S) -> None:
        """Take no more runs, finish the turns under way, and hand the runs back."""
        self._is_ending = True
        if self._engine_worker is not None:
            self._engine_worker.stop()
        beating = asyncio.create_task(self._keep_beating())
        try:
            await self._runner.shutdown(seconds=seconds)
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    async def _keep_beating(self) -> None:
        """The engine falls silent when it is told to end, however long the turns under way still take."""
        while worker := self._id:
            await self._engine.app.job_manager.update_heartbeat(worker)
            await asyncio.sleep(self._beat_s)

    # ── one run ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _id(self) -> int:
        """What the engine knows this worker by."""
        return 0 if self._engine_worker is None else self._engine_worker.worker_id or 0

    async def _work(self, run_id: str) -> None:
        if run_id in self._in_hand:  # it was taken for dead, and given its own run: it has never left it
            with suppress(EndstopError):
                await self._runner.wait(run_id)
            return
        self._in_hand.add(run_id)
        try:
            await self._work_in_place(run_id)
        finally:
            self._in_hand.discard(run_id)

    async def _work_in_place(self, run_id: str) -> None:
        handed = await self._engine.handed(run_id)
        if handed is None:
            return  # it has ended since
        worker = self._id
        if not await self._places.take(handed, worker):
            return  # it is handed out again when there is one
        try:
            await self._driven(handed)
        finally:
            await self._places.leave(handed, worker)

    async def _driven(self, handed: Handed) -> None:
        run_id = handed.run_id
        teller = self._teller.of(run_id)
        try:
            await self._runner.resume_in_background(
                run_id, takes_over=True, bus=teller.bus, listener=teller, on_saved=teller.saved
            )
            done = await self._runner.wait(run_id)
        except RecordTakenError:
            await self._engine.count("leases_lost")
        except UnknownRunError:
            await self._engine.forget(run_id)
        except StoreError:
            raise  # the database fails: the run is found lost when it is back
        except EndstopError as error:
            await self._parked(handed, error)
        else:
            if done.outcome is None:
                await self._engine.hand_out(handed)  # left open: this process is to end
            elif not isinstance(done.outcome, UnderReview | AwaitingUser):
                await self._engine.forget(run_id)
        finally:
            teller.left()

    async def _parked(self, handed: Handed, error: EndstopError) -> None:
        """A run that cannot be gone on with here. If it is under way, another worker may know how to."""
        phase = (await self._store.run(handed.run_id)).phase
        if phase is RunPhase.ENDED:
            await self._engine.forget(handed.run_id)
        elif phase is RunPhase.RUNNING:
            _log.warning("run parked: %s", brief(str(error)), extra={"run_id": handed.run_id})
            await self._engine.enqueue(handed, in_s=_PARKED_S)

    # ── others ────────────────────────────────────────────────────────────────────────────────────────────

    async def _look_after_the_dead(self) -> None:
        """Hand out again the runs of workers that have died, and those that were lost on the way."""
        now_s = asyncio.get_running_loop().time
        trusted_from_s = 0.0
        while not self._is_ending:  # and not only until it is cancelled: a driver may swallow that
            wait_s = self._beat_s * (0.5 + random.random())
            latest_s = now_s() + wait_s + self._beat_s
            await asyncio.sleep(wait_s)
            is_late = True
            with suppress(StoreError):  # there is a next time
                await self._give_up_astray()
                await self._places.stir()
                is_late = now_s() > latest_s
                if not is_late and now_s() >= trusted_from_s:
                    await self._engine.take_from_dead(silent_s=self._silent_s)
                found = [await self._engine.hand_out(lost) for lost in await self._engine.lost()]
                if any(found):
                    await self._engine.count("runs_recovered", sum(found))
            if is_late:  # the database was away, or this process: whoever lives has some beats to show it
                trusted_from_s = now_s() + _BEATS_TO_SHOW * self._beat_s

    async def _give_up_astray(self) -> None:
        """Give up runs that the queue thinks are here, if it thought so the last time, too."""
        before, self._astray = self._astray, await self._engine.astray(self._id, self._in_hand)
        if before & self._astray:
            await self._engine.give_up(self._id, before & self._astray)
