"""One who reads, with a connection of its own: a writer that waits for a lock keeps no reader waiting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from endstop.store.lane import Job
from endstop.store.session import Database, Session, told

Read: TypeAlias = Callable[[Session], Any]


class Reader:
    """Reads from one database, in the thread of its lane."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._session: Session | None = None

    def serve(self, jobs: Sequence[Job[Read]]) -> None:
        for job in jobs:
            try:
                job.result = self._read(job.task)
            except Exception as error:  # noqa: BLE001 - its caller is told, in our words
                job.error = told(self._database, error)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _read(self, task: Read) -> Any:
        """Read, and once more if the connection turns out to be lost."""
        session = self._opened()
        try:
            return task(session)
        except Exception as error:
            if not session.is_lost_by(error):
                raise
            self.close()
            return task(self._opened())

    def _opened(self) -> Session:
        if self._session is None:
            self._session = self._database.connect()
        return self._session
