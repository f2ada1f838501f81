"""The figures of the queue, where runs are handed to workers. Of all servers and workers together.

They are read from the database when somebody asks, and kept for some seconds: however many ask, and however
often, it costs two statements now and then. A database that does not answer is a figure, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from endstop.errors import StoreError
from endstop.server.metrics import Gauge, Metric, Total

if TYPE_CHECKING:
    from endstop.runner.scale.engine import QueueState

ReadQueue: TypeAlias = "Callable[[], Awaitable[tuple[QueueState, Mapping[str, int]]]]"
"""Reads how the queue stands, and what was counted."""

KEPT_S = 5.0
"""For so long figures are told again."""

_WITHIN_S = 2.0


class QueueFigures:
    """Tells how the queue stands."""

    def __init__(self, read: ReadQueue, *, now_s: Callable[[], float] = monotonic) -> None:
        self._read_queue = read
        self._now_s = now_s
        self._turn = asyncio.Lock()
        self._kept: tuple[Metric, ...] = ()
        self._good_until_s = float("-inf")

    async def metrics(self) -> tuple[Metric, ...]:
        """The figures, some seconds old at most. Whoever asks while they are read waits for them."""
        async with self._turn:
            if self._now_s() >= self._good_until_s:
                self._kept = await self._read()
                self._good_until_s = self._now_s() + KEPT_S
            return self._kept

    async def _read(self) -> tuple[Metric, ...]:
        try:
            async with asyncio.timeout(_WITHIN_S):
                return _figures(*await self._read_queue())
        except (StoreError, TimeoutError):
            return (_is_reachable(0),)


def _figures(queue: QueueState, counts: Mapping[str, int]) -> tuple[Metric, ...]:
    lost, recovered = counts.get("leases_lost", 0), counts.get("runs_recovered", 0)
    return (
        _is_reachable(1),
        Gauge("endstop_queue_waiting_runs", "Runs that wait for a worker.", lambda: queue.waiting),
        Gauge("endstop_queue_under_way_runs", "Runs that workers have.", lambda: queue.under_way),
        Gauge(
            "endstop_queue_oldest_wait_seconds",
            "How long the run that waits longest has waited; 0 if none does.",
            lambda: queue.oldest_wait_s or 0.0,
        ),
        Gauge("endstop_workers_alive", "Workers that are alive.", lambda: queue.workers),
        Total("endstop_leases_lost_total", "Runs that a worker lost to another.", lambda: lost),
        Total("endstop_runs_recovered_total", "Runs of dead workers handed out again.", lambda: recovered),
    )


def _is_reachable(value: int) -> Gauge:
    return Gauge("endstop_queue_reachable", "Whether the queue answers: 1 or 0.", lambda: value)
