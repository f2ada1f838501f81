"""Who comes first: requests do not wait for the work of runs, and runs are not forgotten for them."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any

import pytest
from starlette.types import Message, Scope

from endstop.server.pace import SLICE_S, InTurn, PacedLoop, new_loop, set_process
from endstop.store.patience import be_patient, impatient, is_patient


def paced(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    with asyncio.Runner(loop_factory=PacedLoop) as runner:
        return runner.run(work())


def burn(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


async def busy(steps: list[int], number: int, *, count: int = 20) -> None:
    """Work that could go on for long, as a run with a model that answers at once."""
    be_patient()
    for _ in range(count):
        await asyncio.sleep(0)
        burn(SLICE_S)
        steps.append(number)


@pytest.mark.guarantee("I3")
def test_a_request_waits_for_a_slice_of_the_runs_in_each_round_and_no_more() -> None:
    async def work() -> int:
        steps: list[int] = []
        runs = [asyncio.create_task(busy(steps, number)) for number in range(50)]
        await asyncio.sleep(0)
        before = len(steps)
        for _ in range(10):
            await asyncio.sleep(0)
        taken = len(steps) - before
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        return taken

    assert paced(work) <= 11  # one for each round, where a loop that knows no patience does fifty


def test_runs_take_their_turns_in_order_and_all_come_to_their_end() -> None:
    async def work() -> list[int]:
        steps: list[int] = []
        await asyncio.gather(*(busy(steps, number, count=3) for number in range(5)))
        return steps

    assert paced(work) == [0, 1, 2, 3, 4] * 3


def test_runs_go_on_however_many_requests_there_are() -> None:
    async def work() -> bool:
        steps: list[int] = []
        run = asyncio.create_task(busy(steps, 0, count=5))
        while not run.done():
            await asyncio.sleep(0)
        return len(steps) == 5

    assert paced(work)


def test_what_a_patient_task_starts_is_patient_and_the_task_that_started_it_is_not() -> None:
    async def work() -> tuple[bool, bool, bool]:
        async def inner() -> bool:
            return is_patient.get()

        async def outer() -> tuple[bool, bool]:
            be_patient()
            with impatient():
                aside = asyncio.create_task(inner())
            return await asyncio.create_task(inner()), await aside

        return *(await asyncio.create_task(outer())), is_patient.get()

    assert paced(work) == (True, False, False)


def test_a_step_that_was_cancelled_is_not_taken() -> None:
    async def work() -> list[str]:
        told: list[str] = []
        context = Context()
        context.run(be_patient)
        loop = asyncio.get_running_loop()
        loop.call_soon(told.append, "first", context=context)
        loop.call_soon(told.append, "never", context=context).cancel()
        loop.call_soon(told.append, "last", context=context)
        while told[-1:] != ["last"]:
            await asyncio.sleep(0)
        return told

    assert paced(work) == ["first", "last"]


def test_a_step_that_ends_the_program_leaves_the_rest_to_be_cleared_up() -> None:
    told: list[str] = []

    async def tidy() -> None:
        be_patient()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            told.append("tidied up")

    async def fatal() -> None:
        be_patient()
        await asyncio.sleep(0)
        raise SystemExit(3)

    async def work() -> None:
        other = asyncio.create_task(tidy())
        await asyncio.gather(other, asyncio.create_task(fatal()))

    with pytest.raises(SystemExit):
        paced(work)
    assert told == ["tidied up"]


@pytest.mark.parametrize(
    ("path", "gives_way"),
    [
        ("/api/oracle/query", True),
        ("/api/runs/run_1/stream", True),
        ("/api/notifications/stream", True),
        ("/api/settings/agent-config", False),
        ("/api/runs", False),
    ],
)
async def test_requests_that_start_or_follow_runs_give_way(path: str, gives_way: bool) -> None:
    seen: list[bool] = []

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        seen.append(is_patient.get())

    async def nothing(message: Message | None = None) -> Message:
        return {"type": "http.disconnect"}

    task = asyncio.create_task(InTurn(app)({"type": "http", "path": path}, nothing, nothing))  # type: ignore[arg-type]
    await task
    assert seen == [gives_way]


@pytest.fixture
def python_as_it_was() -> Generator[None]:
    threshold, switch_s = gc.get_threshold(), sys.getswitchinterval()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)
    sys.setswitchinterval(switch_s)


def test_a_server_lets_nobody_wait_long_for_the_collector_or_a_thread(python_as_it_was: None) -> None:
    set_process()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] <= 5_000
    assert sys.getswitchinterval() < 0.005


def test_the_loop_to_serve_on_is_paced() -> None:
    loop = new_loop()
    try:
        assert isinstance(loop, PacedLoop)
    finally:
        loop.close()
