"""The pulse of a runner: says that it is alive, and hears what others ask of its runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from endstop.errors import StoreError
from endstop.ports import CancelAsked, Clock, Store
from endstop.runner.owner import BEAT_S
from endstop.store.patience import impatient

LISTEN_S = 0.2
"""How often a runner looks whether somebody in another process wants one of its runs to end."""


class Pulse:
    """Beats while there are runs under way."""

    def __init__(
        self,
        store: Store | None,
        owner: str,
        clock: Clock,
        live: Mapping[str, object],
        cancel: Callable[[CancelAsked], None],
    ) -> None:
        self._store = store
        self._owner = owner
        self._clock = clock
        self._live = live
        self._cancel = cancel
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._store is not None and (self._task is None or self._task.done()):
            with impatient():  # a run that gives way to others must not be taken for dead by that
                self._task = asyncio.get_running_loop().create_task(self._beat(self._store))

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _beat(self, store: Store) -> None:
        last_beat_s = self._clock.monotonic_s()  # the append that this process took a run on with was one
        heard: set[tuple[str, bool]] = set()
        while True:
            await asyncio.sleep(LISTEN_S)
            now_s = self._clock.monotonic_s()
            with suppress(StoreError):  # the next append will tell; a missed beat does no harm
                if now_s - last_beat_s >= BEAT_S:
                    await store.beat(self._owner, tuple(self._live), at=self._clock.unix_s())
                    last_beat_s = now_s
                for asked in await store.cancels_asked(tuple(self._live)):
                    if (asked.run_id, asked.after_turn) not in heard:
                        heard.add((asked.run_id, asked.after_turn))
                        self._cancel(asked)
