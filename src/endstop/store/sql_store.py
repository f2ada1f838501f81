"""The ``Store`` port over a database: each call becomes a job for a thread that writes or reads."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from endstop.errors import InvalidValueError
from endstop.events.facts import Fact
from endstop.events.index import require_one_append
from endstop.kernel.limits import whole
from endstop.kernel.review import RunPhase
from endstop.ports import CancelAsked, Conversation, StoredGrant, StoredReview, StoredRun
from endstop.store import conversations, reading, writing
from endstop.store.access_calls import AccessCalls
from endstop.store.address import Address
from endstop.store.appending import Append
from endstop.store.lane import Lane
from endstop.store.reader import Read, Reader
from endstop.store.session import Database, Session
from endstop.store.writer import Writer, WriteTask

_MOST_LISTED = 100_000


def database_at(address: Address, *, busy_timeout_s: float) -> Database:
    if address.kind == "postgresql":
        from endstop.store.postgres import PostgresDatabase

        return PostgresDatabase(address, busy_timeout_s=busy_timeout_s)
    from endstop.store.sqlite import SqliteDatabase

    return SqliteDatabase(address, busy_timeout_s=busy_timeout_s)


class SqlStore(AccessCalls):
    """Records in SQLite or PostgreSQL. Several event loops may use it, one after the other or at once."""

    def __init__(self, database: Database) -> None:
        self._writer = Lane[WriteTask](Writer(database), name="endstop-writer")
        self._readers: tuple[Lane[Read], ...] = ()
        if not database.address.is_memory:
            names = ("endstop-record-reader", "endstop-list-reader")  # a long record keeps no list waiting
            self._readers = tuple(Lane[Read](Reader(database), name=name, most_at_once=1) for name in names)

    @classmethod
    async def open(cls, address: Address, *, busy_timeout_s: float) -> SqlStore:
        """Open a database, and bring its tables up to date."""
        store = cls(database_at(address, busy_timeout_s=busy_timeout_s))
        try:
            await store._writer.do(None)
        except BaseException:
            await store.close()
            raise
        return store

    def append(
        self, facts: Sequence[Fact], *, owner: str | None = None, conversation_id: str | None = None
    ) -> Awaitable[None]:
        if not facts:
            return _nothing()
        facts = tuple(facts)
        require_one_append(facts)
        append = Append(facts=facts, owner=owner, conversation_id=conversation_id)
        return self._writer.hand_in(append, gives_way=True)  # all of them: those of a run keep their order

    async def record(self, run_id: str, *, after: int = -1, most: int | None = None) -> list[Fact]:
        most = None if most is None else _listed(most, largest=reading.NO_LIMIT)
        task = partial(reading.read_facts, run_id=run_id, after=max(after, -1), most=most)
        return await (self._readers[0].do(task) if self._readers else self._writer.do(task))

    async def run(self, run_id: str) -> StoredRun:
        return await self._read(partial(reading.read_run, run_id=run_id))

    async def runs(
        self,
        *,
        user: str | None = None,
        project: str | None = None,
        phases: Iterable[RunPhase] = (),
        agent: str | None = None,
        text: str | None = None,
        ending: str | None = None,
        most: int = 50,
        before: float | None = None,
        before_run: str | None = None,
    ) -> list[StoredRun]:
        return await self._read(
            partial(
                reading.read_runs,
                user=user,
                project=project,
                phases=tuple({RunPhase(phase) for phase in phases}),
                agent=agent,
                text=text,
                ending=ending,
                most=_listed(most),
                before=before,
                before_run=before_run,
            )
        )

    async def reviews(
        self, *, run_id: str | None = None, user: str | None = None, is_open: bool | None = None
    ) -> list[StoredReview]:
        return await self._read(partial(reading.read_reviews, run_id=run_id, user=user, is_open=is_open))

    async def notices(self, user: str, *, types: Iterable[str], since: float, most: int = 500) -> list[Fact]:
        return await self._read(
            partial(reading.read_notices, user=user, types=tuple(types), since=since, most=_listed(most))
        )

    async def grants(self, run_id: str) -> list[StoredGrant]:
        return await self._read(partial(reading.read_grants, run_id=run_id))

    async def beat(self, owner: str, run_ids: Iterable[str], *, at: float) -> None:
        await self._writer.do(partial(writing.write_beat, owner=owner, run_ids=tuple(run_ids), at=at))

    async def ask_cancel(self, asked: CancelAsked) -> None:
        await self._writer.do(partial(writing.write_cancel, asked=asked))

    async def cancels_asked(self, run_ids: Iterable[str]) -> list[CancelAsked]:
        return await self._read(partial(reading.read_cancels, run_ids=tuple(run_ids)))

    async def settings(self, user: str) -> Mapping[str, object]:
        return await self._read(partial(reading.read_settings, user=user))

    async def save_settings(self, user: str, values: Mapping[str, object]) -> None:
        try:
            chosen = json.dumps(dict(values), allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise InvalidValueError(
                "settings", values, allowed="text, finite numbers, true, false, null, lists and mappings"
            ) from None
        await self._writer.do(partial(writing.write_settings, user=user, chosen=chosen))

    async def open_conversation(
        self, *, user: str | None = None, project: str | None = None, title: str = ""
    ) -> Conversation:
        opened = Conversation(id=_new_id(), user=user, project=project, title=title, created_at=time.time())
        return await self._writer.do(partial(conversations.write_conversation, conversation=opened))

    async def branch_conversation(self, conversation_id: str, *, after_run: str) -> Conversation:
        return await self._writer.do(
            partial(
                conversations.write_branch,
                origin_id=conversation_id,
                after_run=after_run,
                branch_id=_new_id(),
                created_at=time.time(),
            )
        )

    async def conversation(self, conversation_id: str) -> Conversation:
        return await self._read(partial(conversations.read_conversation, conversation_id=conversation_id))

    async def conversations(self, *, user: str | None = None, most: int = 50) -> list[Conversation]:
        return await self._read(partial(conversations.read_conversations, user=user, most=_listed(most)))

    async def delete_conversation(self, conversation_id: str) -> None:
        task = partial(conversations.delete_conversation, conversation_id=conversation_id)
        await self._writer.do(task)

    async def close(self) -> None:
        """Finish what was handed in, then let go of threads, files and connections. Twice does no harm."""
        for lane in (*self._readers, self._writer):
            await lane.close()

    async def _read(self, task: Callable[[Session], Any]) -> Any:
        return await (self._readers[1].do(task) if self._readers else self._writer.do(task))


def _listed(most: int, *, largest: int = _MOST_LISTED) -> int:
    return whole("most", most, smallest=0, largest=largest)


def _new_id() -> str:
    return f"conversation-{uuid4().hex}"


async def _nothing() -> None:
    """There was nothing to do."""
