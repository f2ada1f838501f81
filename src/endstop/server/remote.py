"""Runs that live in workers, as the streams of this server see them.

Replies come over PostgreSQL's LISTEN as they stream; facts from the record, which is looked at when a worker
says that there are new ones.

Nothing depends on what is heard here. A piece that was missed makes the reply come whole, with its fact.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

import psycopg

from endstop.events.chunks import RunningPath
from endstop.events.facts import Fact
from endstop.runner.scale.telling import CHANNEL
from endstop.server.stream import LiveReply
from endstop.store.address import Address
from endstop.store.postgres import connecting

_AGAIN_S = 1.0

_GARBAGE = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What reading fails with that is not of our workers: others may notify on this channel, too."""


class RemoteRun:
    """One run of a worker that is followed here."""

    running: RunningPath | None = None
    """Where its tree stands is not told over the network."""

    def __init__(self) -> None:
        self._reply: LiveReply | None = None
        self._heard = {False: 0, True: 0}
        self._lease = -1
        """The fact by which the worker took the run that was heard last. Who took it earlier has lost it."""
        self._watchers: set[asyncio.Event] = set()

    @property
    def is_followed(self) -> bool:
        return bool(self._watchers)

    def after(self, seq: int) -> list[Fact] | None:  # noqa: ARG002 - as a run of this process has it
        """None: the record has them."""
        return None

    def reply_now(self) -> LiveReply | None:
        return self._reply

    def watch(self, watcher: asyncio.Event) -> None:
        self._watchers.add(watcher)

    def unwatch(self, watcher: asyncio.Event) -> None:
        self._watchers.discard(watcher)

    def hear(self, entry: dict[str, Any]) -> None:
        """Something was told of it: new facts, or a piece of a reply."""
        lease = int(entry["f"])
        if lease < self._lease:
            return
        if lease > self._lease:
            self._lease, self._reply = lease, None
        if "s" in entry:
            if "e" in entry:
                self._reply = None
        else:
            self._hear_piece(entry)
        for watcher in self._watchers:
            watcher.set()

    def lost_touch(self) -> None:
        """What streams now was not heard from its beginning any more."""
        self._reply = None

    def _hear_piece(self, entry: dict[str, Any]) -> None:
        after, turn, text = int(entry["a"]), int(entry["t"]), str(entry["x"])
        is_thought, offset = "k" in entry, int(entry["o"])
        reply = self._reply
        if reply is None or (reply.after, reply.turn) != (after, turn):
            self._heard = {False: 0, True: 0}
            reply = LiveReply(after=after, turn=turn) if offset == 0 else None
            self._reply = reply
        if reply is None or offset != self._heard[is_thought]:
            self._reply = None  # a piece is missing: it will come whole
            return
        self._heard[is_thought] += len(text)
        reply.pieces.append((is_thought, text))


class RemoteRuns:
    """Hears what workers tell, for the runs that are followed here."""

    def __init__(self, address: Address, *, has_worker: Callable[[str], Awaitable[bool]]) -> None:
        """``has_worker``: looks in the database whether anybody works on a run."""
        self._address = address
        self.has_worker = has_worker
        self._runs: dict[str, RemoteRun] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._keep_listening())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def of(self, run_id: str) -> RemoteRun:
        """A run to follow. It is forgotten when nobody follows it any more."""
        for gone in [name for name, run in self._runs.items() if not run.is_followed and name != run_id]:
            del self._runs[gone]
        return self._runs.setdefault(run_id, RemoteRun())

    async def _keep_listening(self) -> None:
        while True:
            target = self._address.target
            with suppress(psycopg.Error, OSError):
                connection = await psycopg.AsyncConnection.connect(
                    target, autocommit=True, **connecting(target)
                )
                async with connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    async for notification in connection.notifies():
                        self._hear(notification.payload)
            for run in self._runs.values():
                run.lost_touch()
            await asyncio.sleep(_AGAIN_S)

    def _hear(self, payload: str) -> None:
        with suppress(*_GARBAGE):
            for entry in cast("list[dict[str, Any]]", json.loads(payload)):
                run = self._runs.get(entry["r"])
                if run is not None:
                    run.hear(entry)
