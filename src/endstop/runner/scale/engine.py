"""The queue of runs, in Procrastinate: the only place that knows of it.

A run is a job with the run's id as its lock: two workers are never given the same one. A run that waits for a
person is no job at all. Beside the engine's tables there is one of our own, ``endstop_handed``: which runs
were handed out, and where. By it a run is found, and handed out again, that is under way by its record and
has no job: whatever was lost between an append and the queue.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, LiteralString, Self

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Status
from psycopg.rows import dict_row

from endstop.errors import StoreError
from endstop.runner.scale.jobs import PatientJobs
from endstop.runner.scale.tables import FUNCTIONS, OURS, misfit
from endstop.store.address import Address, parse_address
from endstop.store.postgres import connecting, hold_nobody_up

TASK = "endstop.run"
DEFAULT_QUEUE = "runs"

_SCHEMA_LOCK = 0x656E6473_63616C65
"""The key under which processes wait for each other when they make the tables: "endscale" in ASCII."""

_IS_THERE: LiteralString = "SELECT 1 FROM pg_class WHERE oid = to_regclass('procrastinate_jobs')"

_PATIENCE_S = 10.0
"""How long to wait for what somebody else has locked."""

_LOOKED_AT_ONCE = 500
"""Of so many runs that were handed out, a look finds whether they are to be forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A run that is handed out."""

    run_id: str
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    user: str | None = None
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """How the queues stand."""

    waiting: int
    under_way: int
    oldest_wait_s: float | None
    """How long the run that has waited longest waits by now; None if none does."""
    workers: int
    """How many are alive."""


class Engine:
    """The queue of runs in a PostgreSQL database."""

    def __init__(self, url: str, *, pool: int = 4) -> None:
        self.address: Address = parse_address(url)
        if self.address.kind != "postgresql":
            raise StoreError(
                f"Workers need PostgreSQL, and the database is {self.address.shown}",
                to_do="Give --database postgresql://user@host/name, or set ENDSTOP_DATABASE_URL",
            )
        self._pool = pool
        self._looked_at = ""
        """The last run of which it was looked whether it is to be forgotten."""
        self.app = self._app()

    def _app(self) -> App:
        connector = PsycopgConnector(
            conninfo=self.address.target,
            min_size=1,
            max_size=self._pool,
            timeout=4,
            reconnect_timeout=4,  # else it tries less and less often, and comes back long after the database
            kwargs=connecting(self.address.target),
            configure=self._be_brief,
        )
        app = App(connector=connector)
        app.job_manager = PatientJobs(connector)
        return app

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def open(self, *, only_looks: bool = False) -> None:
        """Connect, and make the tables if they are not there yet; not for somebody who ``only_looks``."""
        try:
            target = self.address.target
            knocked = await psycopg.AsyncConnection.connect(target, **connecting(target))
            await knocked.close()  # a pool would try for half a minute before it says that nobody is there
            await self.app.open_async()
            if not only_looks:
                await self._prepare()
        except (ConnectorException, psycopg.Error) as error:
            await self.close()
            raise self._failed("The queue of runs cannot be opened", error) from error
        except StoreError:
            await self.close()
            raise

    async def close(self) -> None:
        await self.app.close_async()

    async def is_there(self) -> bool:
        """Whether runs are handed out, or were, on this database at all."""
        tables = "to_regclass('endstop_handed') IS NOT NULL AND to_regclass('procrastinate_jobs') IS NOT NULL"
        return bool(await self._rows(f"SELECT 1 AS found WHERE {tables}"))

    async def require_tables(self) -> None:
        """``StoreError`` if the engine's tables are those of another version of it; says what to do."""
        there = {row["name"] for row in await self._rows(FUNCTIONS)}
        found = misfit(there)
        if found is not None:
            raise found.to_error(self.address.shown)

    # ── handing out ───────────────────────────────────────────────────────────────────────────────────────

    async def announce(self, handed: Handed) -> None:
        """Say that a run will be handed out, before its first fact: so it is found, whatever happens then."""
        await self._execute(
            """
            INSERT INTO endstop_handed (run_id, queue, priority, user_name, model)
            VALUES (%(run_id)s, %(queue)s, %(priority)s, %(user)s, %(model)s)
            ON CONFLICT (run_id) DO UPDATE SET handed_at = now(), waits_since = NULL, kept_until = NULL
            """,
            run_id=handed.run_id,
            queue=handed.queue,
            priority=handed.priority,
            user=handed.user,
            model=handed.model,
        )

    async def hand_out(self, handed: Handed, *, in_s: float = 0.0) -> bool:
        """Put a run into its queue. False if it waits there already."""
        await self.announce(handed)
        return await self.enqueue(handed, in_s=in_s)

    async def enqueue(self, handed: Handed, *, in_s: float = 0.0) -> bool:
        """The same for one that waits already: it has waited since it was handed out, and not since now."""
        deferrer = self.app.configure_task(
            TASK,
            queue=handed.queue,
            lock=handed.run_id,
            queueing_lock=handed.run_id,
            priority=handed.priority,
            schedule_at=await self._time_in(in_s) if in_s else None,
        )
        try:
            await deferrer.defer_async(run_id=handed.run_id)
        except AlreadyEnqueued:
            return False
        except ConnectorException as error:
            raise self._failed("The run could not be handed out", error) from error
        return True

    async def handed(self, run_id: str) -> Handed | None:
        """How a run was handed out; None if it never was."""
        rows = await self._rows(
            "SELECT run_id, queue, priority, user_name, model FROM endstop_handed WHERE run_id = %(run_id)s",
            run_id=run_id,
        )
        return handed_of(rows[0]) if rows else None

    async def among(self, run_ids: Collection[str]) -> frozenset[str]:
        """Which of these runs were handed out: workers go on with them."""
        rows = await self._rows(
            "SELECT run_id FROM endstop_handed WHERE run_id = ANY(%(run_ids)s)", run_ids=list(run_ids)
        )
        return frozenset(row["run_id"] for row in rows)

    async def take_back(self, run_id: str) -> bool:
        """Take a run out of its queue. False if a worker has it."""
        jobs = self.app.job_manager
        try:
            for job in await jobs.list_jobs_async(lock=run_id, task=TASK):
                if job.status == Status.DOING.value:
                    return False
                if job.status != Status.TODO.value or job.id is None:
                    continue
                if not await jobs.cancel_job_by_id_async(job.id, delete_job=True):
                    return False  # a worker was quicker
        except ConnectorException as error:
            raise self._failed("The queue of runs could not be read", error) from error
        return True

    async def forget(self, run_id: str) -> None:
        """The run has ended: it will not be handed out again."""
        await self._execute("DELETE FROM endstop_handed WHERE run_id = %(run_id)s", run_id=run_id)

    async def lost(self) -> list[Handed]:
        """Runs that were handed out and are under way by their record, but in no queue and with no worker.

        Every worker asks this every few seconds: it costs as much as runs are under way, however many others
        wait for people. On the way, some are forgotten that need not be known any more.
        """
        await self._forget_some()
        rows = await self._rows(
            """
            SELECT run_id, queue, priority, user_name, model FROM endstop_handed
             WHERE waits_since IS NULL
               AND run_id = ANY(ARRAY(
                   SELECT r.run_id FROM endstop_runs r
                    WHERE r.phase = 'RUNNING'
                      AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j
                                       WHERE j.lock = r.run_id AND j.status IN ('todo', 'doing'))))
             ORDER BY handed_at LIMIT 500
            """
        )
        return [handed_of(row) for row in rows]

    async def _forget_some(self) -> None:
        """Forget runs that somebody else has ended (cancelled, or rejected, while they waited for a person),
        or that never began. A part of them all is looked at, and the next part the next time."""
        rows = await self._rows(
            """
            WITH looked_at AS MATERIALIZED (
                SELECT run_id FROM endstop_handed
                 WHERE run_id > %(after)s ORDER BY run_id LIMIT %(most)s)
               , gone AS (
                DELETE FROM endstop_handed
                 WHERE handed_at < now() - interval '1 minute'
                   AND run_id = ANY(ARRAY(
                       SELECT l.run_id FROM looked_at l
                        WHERE NOT EXISTS (SELECT 1 FROM endstop_runs r
                                           WHERE r.run_id = l.run_id AND r.phase <> 'ENDED')
                          AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j
                                           WHERE j.lock = l.run_id AND j.status IN ('todo', 'doing')))))
            SELECT max(run_id) AS last FROM looked_at HAVING count(*) = %(most)s
            """,
            after=self._looked_at,
            most=_LOOKED_AT_ONCE,
        )
        self._looked_at = rows[0]["last"] if rows else ""

    async def take_from_dead(self, *, silent_s: float) -> int:
        """Take their runs from workers that have been silent for so long; how many. They are lost then.

        Their jobs go, in one statement, and are not put back: a worker that was only thought dead ticks off
        its own job when it wakes, never that of whoever has the run now.
        """
        rows = await self._rows(
            """
            DELETE FROM procrastinate_jobs j
             WHERE j.task_name = %(task)s AND j.status = 'doing'
               AND NOT EXISTS (
                   SELECT 1 FROM procrastinate_workers w
                    WHERE w.id = j.worker_id
                      AND w.last_heartbeat > now() - make_interval(secs => %(silent_s)s))
            RETURNING j.id
            """,
            task=TASK,
            silent_s=silent_s,
        )
        return len(rows)

    async def astray(self, worker: int, in_hand: Collection[str]) -> frozenset[str]:
        """Runs that a worker was given by the queue, and knows nothing of."""
        rows = await self._rows(
            """
            SELECT lock FROM procrastinate_jobs
             WHERE task_name = %(task)s AND status = 'doing' AND worker_id = %(worker)s
            """,
            task=TASK,
            worker=worker,
        )
        return frozenset(row["lock"] for row in rows).difference(in_hand)

    async def give_up(self, worker: int, runs: Collection[str]) -> None:
        """Take runs from a worker that knows nothing of them. They are lost then."""
        await self._execute(
            """
            DELETE FROM procrastinate_jobs
             WHERE task_name = %(task)s AND status = 'doing' AND worker_id = %(worker)s
               AND lock = ANY(%(runs)s)
            """,
            task=TASK,
            worker=worker,
            runs=list(runs),
        )

    async def is_held(self, run_id: str, *, silent_s: float) -> bool:
        """Whether a living worker has a run, by the database's clock: those of machines may be apart."""
        rows = await self._rows(
            """
            SELECT 1 FROM procrastinate_jobs j JOIN procrastinate_workers w ON w.id = j.worker_id
             WHERE j.lock = %(run_id)s AND j.status = 'doing'
               AND w.last_heartbeat > now() - make_interval(secs => %(silent_s)s)
            """,
            run_id=run_id,
            silent_s=silent_s,
        )
        return bool(rows)

    # ── rates and figures ─────────────────────────────────────────────────────────────────────────────────

    async def wait_for(self, model: str, per_minute: float) -> float:
        """Take the next moment at which a model may be called; how many seconds it is away (D11)."""
        rows = await self._rows(
            """
            INSERT INTO endstop_rates AS r (model, next_at)
            VALUES (%(model)s, now() + %(step)s * interval '1 s')
            ON CONFLICT (model) DO UPDATE
               SET next_at = greatest(r.next_at, now()) + %(step)s * interval '1 s'
            RETURNING extract(epoch FROM r.next_at - now())::float8 - %(step)s AS wait_s
            """,
            model=model,
            step=60.0 / per_minute,
        )
        return max(float(rows[0]["wait_s"]), 0.0)

    async def waiting_of(self, user: str | None) -> int:
        """How many runs of a user wait, in queues or for a place."""
        rows = await self._rows(
            """
            SELECT count(*) AS waiting FROM endstop_handed h
              LEFT JOIN procrastinate_jobs j ON j.queueing_lock = h.run_id AND j.status = 'todo'
             WHERE h.user_name IS NOT DISTINCT FROM %(user)s
               AND (h.waits_since IS NOT NULL OR j.id IS NOT NULL)
            """,
            user=user,
        )
        return int(rows[0]["waiting"])

    async def count(self, name: str, more: int = 1) -> None:
        """Count something that workers do, all of them together: ``leases_lost``, ``runs_recovered``."""
        await self._execute(
            """
            INSERT INTO endstop_counts AS c (name, value) VALUES (%(name)s, %(more)s)
            ON CONFLICT (name) DO UPDATE SET value = c.value + %(more)s
            """,
            name=name,
            more=more,
        )

    async def counts(self) -> dict[str, int]:
        rows = await self._rows("SELECT name, value FROM endstop_counts")
        return {row["name"]: int(row["value"]) for row in rows}

    async def state(self, *, silent_s: float) -> QueueState:
        """How the queues stand."""
        rows = await self._rows(
            """
            WITH jobs AS (SELECT status, lock FROM procrastinate_jobs
                           WHERE task_name = %(task)s AND status IN ('todo', 'doing'))
                 , waits AS (SELECT handed_at FROM endstop_handed WHERE waits_since IS NOT NULL
                              UNION ALL
                             SELECT h.handed_at FROM endstop_handed h
                               JOIN jobs ON jobs.lock = h.run_id AND jobs.status = 'todo'
                              WHERE h.waits_since IS NULL)
            SELECT (SELECT count(*) FROM waits) AS waiting,
                   (SELECT count(*) FROM jobs WHERE status = 'doing') AS doing,
                   (SELECT extract(epoch FROM now() - min(handed_at))::float8 FROM waits) AS oldest,
                   (SELECT count(*) FROM procrastinate_workers
                     WHERE last_heartbeat > now() - make_interval(secs => %(silent_s)s)) AS workers
            """,
            task=TASK,
            silent_s=silent_s,
        )
        row = rows[0]
        oldest = row["oldest"]
        return QueueState(
            waiting=int(row["waiting"]),
            under_way=int(row["doing"]),
            oldest_wait_s=None if oldest is None else float(oldest),
            workers=int(row["workers"]),
        )

    # ── working ───────────────────────────────────────────────────────────────────────────────────────────

    def register(self, work: Callable[[str], Awaitable[None]]) -> None:
        """Have ``work`` called with the id of each run that this process is given."""

        async def run(run_id: str) -> None:
            await work(run_id)

        self.app.task(name=TASK, queue=DEFAULT_QUEUE)(run)

    async def job_of(self, run_id: str) -> Status | None:
        """How the latest job of a run stands."""
        jobs = list(await self.app.job_manager.list_jobs_async(lock=run_id, task=TASK))
        return Status(jobs[-1].status) if jobs else None

    # ── within ────────────────────────────────────────────────────────────────────────────────────────────

    async def _prepare(self) -> None:
        """Make what tables are missing. Processes that begin together wait for each other."""
        async with self._connector.pool.connection() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
            found = await connection.execute(_IS_THERE)
            if await found.fetchone() is None:
                await connection.execute(self.app.schema_manager.get_schema())
            await connection.execute(OURS)
        await self.require_tables()

    async def _be_brief(self, connection: psycopg.AsyncConnection) -> None:
        """Keep nobody waiting: a process that is stopped, or cut off, in the middle of a transaction holds
        locks which others need to take over from it."""
        await connection.set_autocommit(True)  # so few statements need one
        await connection.execute(*hold_nobody_up(self.address.target, patience_s=_PATIENCE_S))

    async def _time_in(self, seconds: float) -> datetime:
        """So many seconds from now, by the database's clock."""
        rows = await self._rows("SELECT now() + make_interval(secs => %(s)s) AS at", s=seconds)
        return rows[0]["at"]

    @property
    def _connector(self) -> PsycopgConnector:
        connector = self.app.connector
        assert isinstance(connector, PsycopgConnector), "it was made so"
        return connector

    async def _rows(self, sql: LiteralString, **values: Any) -> Sequence[dict[str, Any]]:
        try:
            return await self._connector.execute_query_all_async(sql, **values)
        except ConnectorException as error:
            raise self._failed("The queue of runs could not be read", error) from error

    async def _execute(self, sql: LiteralString, **values: Any) -> None:
        try:
            await self._connector.execute_query_async(sql, **values)
        except ConnectorException as error:
            raise self._failed("The queue of runs could not be written", error) from error

    async def together(self, *steps: tuple[LiteralString, dict[str, Any]]) -> list[dict[str, Any]]:
        """Do several statements in one transaction; the rows of the last one, if it has any."""
        is_one = len(steps) == 1  # which is a transaction of its own, and costs no more round trips
        try:
            async with (
                self._connector.pool.connection() as connection,
                nullcontext() if is_one else connection.transaction(),
                connection.cursor(row_factory=dict_row) as cursor,
            ):
                for sql, values in steps:
                    await cursor.execute(sql, values)
                return await cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise self._failed("The queue of runs could not be written", error) from error

    def _failed(self, what: str, error: BaseException) -> StoreError:
        why = error.__cause__ or error
        return StoreError(
            f"{what}: {self.address.masked(str(why)).strip() or type(why).__name__}",
            to_do=f"See that the database can be reached: {self.address.shown}",
        )


def handed_of(row: dict[str, Any]) -> Handed:
    """A row of ``endstop_handed``."""
    return Handed(
        run_id=row["run_id"],
        queue=row["queue"],
        priority=row["priority"],
        user=row["user_name"],
        model=row["model"],
    )
