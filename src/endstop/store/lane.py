"""A thread that works on a database, so that no event loop ever waits for one.

A lane takes jobs from any event loop, hands them to its worker, in their order and as many as are waiting
at once, and brings what came of them back to where they came from. Jobs of callers who are patient give way
to those of others. A caller who gives up waiting takes nothing back: a job that was handed in is done, so
that what follows it in a record still fits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, Protocol, TypeVar

from endstop.errors import StoreError, cause
from endstop.store.patience import is_patient

_MOST_AT_ONCE = 16
"""Few enough that whoever comes while they are served does not wait long, and enough to share a commit."""

_Task = TypeVar("_Task")


class Job(Generic[_Task]):
    """Something to do, what came of it, and who wants to know."""

    __slots__ = ("error", "future", "gives_way", "loop", "result", "task")

    def __init__(self, task: _Task, loop: asyncio.AbstractEventLoop, *, gives_way: bool = False) -> None:
        self.task = task
        self.loop = loop
        self.gives_way = gives_way
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None


class Worker(Protocol):
    """Does jobs, in the thread of its lane."""

    def serve(self, jobs: Sequence[Job[Any]]) -> None:
        """Do them, and set the ``result`` or the ``error`` of each."""
        ...

    def close(self) -> None: ...


class Lane(Generic[_Task]):
    """One thread and its queue. The thread is started with the first job."""

    def __init__(self, worker: Worker, *, name: str, most_at_once: int = _MOST_AT_ONCE) -> None:
        self._worker = worker
        self._name = name
        self._most_at_once = most_at_once
        self._queue: SimpleQueue[Job[_Task] | None] = SimpleQueue()
        """What was handed in and not yet looked at; None says that nothing more will come."""
        self._first: deque[Job[_Task]] = deque()
        self._patient: deque[Job[_Task]] = deque()
        self._is_ending = False
        self._lock = Lock()
        self._thread: Thread | None = None
        self._is_closed = False

    async def do(self, task: _Task) -> Any:
        """Have a job done, and wait for what comes of it."""
        return await self.hand_in(task)

    def hand_in(self, task: _Task, *, gives_way: bool | None = None) -> asyncio.Future[Any]:
        """Have a job done, after those that were handed in before and give way, or do not, like this one.

        Whether it does, its caller's patience tells, unless the order of such jobs must never change.
        """
        gives_way = is_patient.get() if gives_way is None else gives_way
        job = Job(task, asyncio.get_running_loop(), gives_way=gives_way)
        with self._lock:
            if self._is_closed:
                raise StoreError("The store is closed", to_do="Open it again with open_store")
            if self._thread is None:
                self._thread = Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._queue.put(job)
        return job.future

    async def close(self) -> None:
        """Finish what was handed in, then end the thread. Twice does no harm."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._queue.put(None)
            thread = self._thread
        while thread is not None and thread.is_alive():
            await asyncio.sleep(0.001)
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while jobs := self._taken():
            self._serve(jobs)
            _bring_back(jobs)
        self._worker.close()

    def _taken(self) -> list[Job[_Task]]:
        """The jobs to do next, of one kind; none when the lane is to end and all is done."""
        if not self._first and not self._patient and not self._is_ending:
            self._sort_in(self._queue.get())
        with suppress(Empty):
            while not self._is_ending:
                self._sort_in(self._queue.get_nowait())
        jobs = self._first or self._patient
        return [jobs.popleft() for _ in range(min(len(jobs), self._most_at_once))]

    def _sort_in(self, job: Job[_Task] | None) -> None:
        if job is None:
            self._is_ending = True
        else:
            (self._patient if job.gives_way else self._first).append(job)

    def _serve(self, jobs: list[Job[_Task]]) -> None:
        try:
            self._worker.serve(jobs)
        except BaseException as error:  # noqa: BLE001 - whatever it is, nobody may be left waiting
            for job in jobs:
                job.error = job.error or error


def _bring_back(jobs: Sequence[Job[Any]]) -> None:
    """Wake each event loop once, with all that came of its jobs."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, own in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, own)


def _settle(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # its caller was cancelled
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(_harmless(job.error))


def _harmless(error: BaseException) -> Exception:
    """An error that can be handed to an event loop: some would end it, and with it everybody's work."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return StoreError(f"The thread of the store broke with {cause(error)}", to_do="Report this: it is a bug")
