"""Rates of providers, shared by workers that know nothing of each other but the database."""

from __future__ import annotations

import asyncio
import time

from endstop.models.paced import Gate
from endstop.runner.scale.engine import Engine

MODEL = "a:model"
PER_MINUTE = 600.0
CALLS_EACH = 8


async def test_all_workers_together_keep_to_the_rate_and_share_it(postgres_url: str) -> None:
    calls: list[tuple[float, int]] = []

    async def called(gate: Gate, worker: int) -> None:
        await gate.wait(MODEL)
        calls.append((time.monotonic(), worker))

    async with Engine(postgres_url) as first, Engine(postgres_url) as second:
        gates = [Gate({MODEL: PER_MINUTE}, engine.wait_for) for engine in (first, second)]
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            for worker, gate in enumerate(gates):
                for _ in range(CALLS_EACH):
                    group.create_task(called(gate, worker))
    step_s = 60 / PER_MINUTE
    took_s = calls[-1][0] - calls[0][0]
    assert took_s >= (2 * CALLS_EACH - 1) * step_s - 0.05  # asked for at the database, slept here
    half = [worker for _, worker in calls[:CALLS_EACH]]
    assert 2 <= half.count(0) <= CALLS_EACH - 2, "neither is kept waiting by the other"


async def test_a_worker_that_stops_waiting_costs_the_others_one_moment(postgres_url: str) -> None:
    async with Engine(postgres_url) as first, Engine(postgres_url) as second:
        dying, living = (Gate({MODEL: PER_MINUTE}, engine.wait_for) for engine in (first, second))
        many = [asyncio.create_task(dying.wait(MODEL)) for _ in range(200)]
        await asyncio.wait(many, return_when=asyncio.FIRST_COMPLETED)
        for one in many:
            one.cancel()
        await asyncio.wait(many)
        began = time.monotonic()
        await living.wait(MODEL)
        assert time.monotonic() - began < 2.0
