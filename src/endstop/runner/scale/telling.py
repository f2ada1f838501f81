"""What a worker tells the servers while it works: pieces of replies, and that there are new facts.

Over PostgreSQL's NOTIFY, many at a time. Nothing depends on it: facts are in the record, a reply that was not
heard comes whole with its fact, and whoever hears nothing looks at the record now and then.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import suppress
from typing import Any

import psycopg

from endstop.events.bus import Bus
from endstop.events.facts import RunTaken, Thought
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import AssistantSaid
from endstop.loop.journal import Delta
from endstop.store.address import Address
from endstop.store.postgres import connecting

CHANNEL = "endstop_live"
EVERY_S = 0.03
"""How long pieces are gathered before they are told."""

_MOST_BYTES = 7_000
"""A notification has 8,000 at most."""
_MOST_TEXT = 500
"""Of characters, each of which may take twelve bytes when it is written."""
_MOST_WAITING = 20_000
"""While nobody can be told, so much is kept; what is older is not told at all."""
_RETRY_S = 1.0


class Teller:
    """Tells the servers of all runs of one worker, over one connection of its own."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._waiting: deque[dict[str, Any]] = deque(maxlen=_MOST_WAITING)
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._keep_telling())

    async def stop(self) -> None:
        if self._task is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_RETRY_S):
                    while self._waiting and not self._task.done():
                        await asyncio.sleep(EVERY_S)
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def of(self, run_id: str) -> RunTeller:
        return RunTeller(run_id, self)

    def tell(self, entry: dict[str, Any]) -> None:
        self._waiting.append(entry)
        self._woken.set()

    async def _keep_telling(self) -> None:
        while True:
            try:
                target = self._address.target
                connection = await psycopg.AsyncConnection.connect(
                    target, autocommit=True, **connecting(target)
                )
                async with connection:
                    await self._tell_over(connection)
            except (psycopg.Error, OSError):  # nothing depends on it
                await asyncio.sleep(_RETRY_S)
            self._waiting.clear()  # told late, it could be mistaken for what is said then

    async def _tell_over(self, connection: psycopg.AsyncConnection) -> None:
        while True:
            await self._woken.wait()
            await asyncio.sleep(EVERY_S)
            self._woken.clear()
            while self._waiting:
                await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self._batch()))

    def _batch(self) -> str:
        entries: list[str] = []
        size = 2
        while self._waiting:
            text = json.dumps(self._waiting[0], separators=(",", ":"))
            if entries and size + len(text) + 1 > _MOST_BYTES:
                break
            self._waiting.popleft()
            entries.append(text)
            size += len(text) + 1
        return f"[{','.join(entries)}]"


class RunTeller:
    """Hears what is shown of one run, and has it told. It is the run's listener."""

    def __init__(self, run_id: str, teller: Teller) -> None:
        self._run_id = run_id
        self._teller = teller
        self.bus = Bus()
        self._subscription = self.bus.subscribe(capacity=10_000)
        self._last_seq = -1
        self._lease = -1
        """The fact by which this worker took the run: later ones are told of by whoever took it later."""
        self._after: int | None = None
        """The last fact before the reply that streams now."""
        self._said = {False: 0, True: 0}
        """How much of it was told, as text and as thinking."""
        self._has_ended_reply = True
        """Whatever streamed of it before streams no longer: at first, that of a worker that has died."""

    def __call__(self, delta: object) -> None:
        """Be shown a piece of a reply."""
        if not isinstance(delta, Delta) or delta.scope != ROOT:
            return
        self._drain()
        if self._after is None:
            self._after = self._last_seq
            self._said = {False: 0, True: 0}
        for start in range(0, len(delta.text), _MOST_TEXT):
            text = delta.text[start : start + _MOST_TEXT]
            entry: dict[str, Any] = {"r": self._run_id, "f": self._lease, "a": self._after, "t": delta.turn}
            entry |= {"x": text, "o": self._said[delta.is_thought]}
            if delta.is_thought:
                entry["k"] = 1
            self._said[delta.is_thought] += len(text)
            self._teller.tell(entry)

    def saved(self, seq: int) -> None:
        """The record has the facts up to this one."""
        self._drain()
        entry: dict[str, Any] = {"r": self._run_id, "f": self._lease, "s": seq}
        if self._has_ended_reply:
            entry["e"] = 1
            self._has_ended_reply = False
        self._teller.tell(entry)

    def left(self) -> None:
        """The worker works on it no longer."""
        self._subscription.close()

    def _drain(self) -> None:
        for fact in self._subscription.take():
            self._last_seq = fact.seq
            if isinstance(fact.payload, RunTaken):
                self._lease = fact.seq
            if isinstance(fact.payload, Thought | AssistantSaid) and fact.payload.scope == ROOT:
                self._after = None
                self._has_ended_reply = True
