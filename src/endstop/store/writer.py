"""The one who writes: all that is waiting, in one transaction (group commit).

If that fails, everything is taken back and each job is tried by itself, so that the trouble of one run is
never that of another. A lost connection is opened anew, once; whether an append had been committed when it
broke is looked up, so that no fact is lost or doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, TypeAlias, cast

from endstop.errors import EndstopError, RecordTakenError
from endstop.store.appending import Append, Appender, is_written, taken
from endstop.store.lane import Job
from endstop.store.session import Database, Session, told
from endstop.store.upgrade import bring_up_to_date

Write: TypeAlias = Callable[[Session], Any]
"""Writes something and answers. Raises an ``EndstopError`` only before it has written anything, and can be
done twice without harm."""

WriteTask: TypeAlias = Append | Write | None
"""None only opens the database, and brings it up to date."""


class Writer:
    """Writes to one database, in the thread of its lane."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._session: Session | None = None
        self._appender = Appender()
        self._is_up_to_date = False

    def serve(self, jobs: Sequence[Job[WriteTask]]) -> None:
        writing = [job for job in jobs if job.task is not None]
        try:
            session = self._begun() if writing else self._opened()
        except Exception as error:  # noqa: BLE001 - each caller is told in our words
            self._fail(jobs, error)
            return
        try:
            self._write(session, writing)
            session.commit()
        except Exception as error:  # noqa: BLE001 - looked at again for each job by itself
            was_lost = self._take_back(session, error)
            self._one_by_one(writing, error, was_lost=was_lost)
        else:
            self._appender.committed()

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _opened(self) -> Session:
        if self._session is None:
            session = self._database.connect()
            try:
                if not self._is_up_to_date:
                    bring_up_to_date(self._database, session)
            except BaseException:
                session.close()
                raise
            self._session = session
            self._is_up_to_date = True
        return self._session

    def _begun(self) -> Session:
        """A session with a transaction begun: a connection that was lost while idle is opened anew."""
        session = self._opened()
        try:
            session.begin()
        except Exception as error:
            if not self._take_back(session, error):
                raise
            session = self._opened()
            session.begin()
        return session

    def _write(self, session: Session, jobs: Sequence[Job[WriteTask]]) -> None:
        """Do the jobs in their order, appends that stand together at once."""
        for is_append, group in groupby(jobs, key=lambda job: isinstance(job.task, Append)):
            if is_append:
                own = list(group)
                appends = [cast("Append", job.task) for job in own]
                for job, refusal in zip(own, self._appender.write(session, appends), strict=True):
                    job.error = refusal
            else:
                for job in group:
                    _do(session, job)

    def _one_by_one(self, jobs: Sequence[Job[WriteTask]], failure: Exception, *, was_lost: bool) -> None:
        is_conflict = self._database.is_conflict(failure)
        may_be_there = not is_conflict  # a connection does not always know that it was lost in a commit
        is_final = len(jobs) == 1 and not was_lost and not is_conflict
        if is_final:
            self._fail(jobs, failure)
            return
        for number, job in enumerate(jobs):
            try:
                session = self._begun()
            except Exception as error:  # noqa: BLE001 - the database cannot be used: it is so for all
                self._fail(jobs[number:], error)
                return
            self._alone(session, job, may_be_there=may_be_there)

    def _alone(self, session: Session, job: Job[WriteTask], *, may_be_there: bool) -> None:
        job.error = None
        try:
            if isinstance(job.task, Append):
                (job.error,) = self._appender.write(session, [job.task], is_careful=True)
                if may_be_there and isinstance(job.error, RecordTakenError) and is_written(session, job.task):
                    job.error = None
            else:
                _do(session, job)
            session.commit()
        except Exception as error:  # noqa: BLE001 - its caller is told in our words
            self._take_back(session, error)
            self._fail([job], error)
        else:
            self._appender.committed()

    def _take_back(self, session: Session, error: Exception) -> bool:
        """Undo what was not committed. True if the connection was lost, and a new one is to be opened."""
        self._appender.forget()
        if session.is_lost_by(error):
            self.close()
            return True
        session.rollback()
        return False

    def _fail(self, jobs: Sequence[Job[WriteTask]], error: Exception) -> None:
        for job in jobs:
            if isinstance(job.task, Append) and self._database.is_conflict(error):
                job.error = taken(job.task.facts[0])
            else:
                job.error = told(self._database, error)


def _do(session: Session, job: Job[WriteTask]) -> None:
    try:
        job.result = cast("Write", job.task)(session)
    except EndstopError as refusal:
        job.error = refusal
