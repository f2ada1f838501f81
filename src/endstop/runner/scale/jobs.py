"""The engine's jobs, for workers that outlive an outage of the database.

The engine's own worker ends when one heartbeat, one fetch or its ear fails; it then waits for all its runs,
silent, while others take them. Ours goes on, and asks again. What is left half done by an outage (a job that
was fetched and never came, one that was done and could not be ticked off) is found by ``Engine.astray``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback

_AGAIN_S = 1.0


class PatientJobs(JobManager):
    """Jobs in a database that may be gone for a while."""

    async def update_heartbeat(self, worker_id: int) -> None:
        """Say that a worker is alive; also one that was thought dead, and cleared away."""
        with suppress(ConnectorException):  # the next one will do
            await self.connector.execute_query_async(
                """
                INSERT INTO procrastinate_workers AS w (id) OVERRIDING SYSTEM VALUE VALUES (%(worker_id)s)
                ON CONFLICT (id) DO UPDATE SET last_heartbeat = now()
                """,
                worker_id=worker_id,
            )

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        try:
            return await super().fetch_job(queues, worker_id)
        except ConnectorException:
            return None  # it is asked again soon

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        with suppress(ConnectorException):  # others were given it, or it will be found astray
            await super().finish_job(job, status, delete_job)

    async def list_jobs_to_abort_async(self, queue: str | None = None) -> Iterable[int]:  # noqa: ARG002 - its port
        """None: what is to end is asked for in the store, as everywhere."""
        return ()

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        while True:
            with suppress(ConnectorException, OSError):
                await super().listen_for_jobs(on_notification=on_notification, queues=queues)
            await asyncio.sleep(_AGAIN_S)
