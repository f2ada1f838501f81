"""Functions that block: they hold up nobody, stop when they can be stopped, and are counted when not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

import pytest
from tools_words import CONTEXT, comes_true

from endstop.tools import hung_threads, threads, tool
from endstop.tools.threads import call_in_thread


async def cut_off(call: asyncio.Future[object] | asyncio.Task[object], *, after_s: float = 0.05) -> float:
    """Cancel a call after a while; how long that took to have an effect."""
    await asyncio.sleep(after_s)
    call.cancel()
    before = time.perf_counter()
    with pytest.raises(asyncio.CancelledError):
        await call
    return time.perf_counter() - before


@pytest.mark.guarantee("A11")
async def test_a_busy_loop_is_cut_off_and_its_thread_ends() -> None:
    ended = threading.Event()

    @tool
    def spin() -> None:
        try:
            while True:
                pass
        finally:
            ended.set()

    assert await cut_off(asyncio.create_task(spin.call("{}", CONTEXT))) < 0.3
    assert await asyncio.to_thread(ended.wait, 5)
    assert comes_true(lambda: hung_threads() == 0)


@pytest.mark.guarantee("A11")
async def test_a_call_that_hangs_in_c_is_left_behind_and_counted_until_it_ends() -> None:
    may_end = threading.Event()

    @tool
    def hang() -> None:
        may_end.wait(60)

    before = hung_threads()
    assert await cut_off(asyncio.create_task(hang.call("{}", CONTEXT))) < 0.3
    assert hung_threads() == before + 1
    may_end.set()
    assert comes_true(lambda: hung_threads() == before)


async def test_the_loop_runs_on_while_a_tool_blocks() -> None:
    @tool
    def block() -> None:
        time.sleep(0.2)

    ticks = 0
    call = asyncio.create_task(block.call("{}", CONTEXT))
    while not call.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks > 5


async def test_idle_threads_are_used_again_and_given_up_ones_never() -> None:
    names = {await call_in_thread(lambda: threading.current_thread().name) for _ in range(20)}
    assert len(names) == 1
    seen: list[str] = []

    def stubborn() -> None:
        seen.append(threading.current_thread().name)
        try:
            while True:
                time.sleep(0.001)
        except SystemExit:
            time.sleep(0.05)

    await cut_off(asyncio.create_task(call_in_thread(stubborn)))
    assert comes_true(lambda: hung_threads() == 0)
    others = {await call_in_thread(lambda: threading.current_thread().name) for _ in range(20)}
    assert not others & set(seen)


def slowly(number: int) -> int:
    time.sleep(0.01)
    return number


async def test_many_calls_at_once_all_come_back_and_few_threads_stay() -> None:
    results = await asyncio.gather(*(call_in_thread(slowly, number) for number in range(100)))
    assert results == list(range(100))
    assert comes_true(lambda: _idle_threads() <= threads.MOST_IDLE)


def _idle_threads() -> int:
    return sum(thread.name.startswith("endstop-tool") for thread in threading.enumerate())


async def test_cancelling_at_any_moment_loses_no_thread_and_leaks_no_stop_into_the_next_call() -> None:
    def short(seconds: float) -> str:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass
        return "done"

    for number in range(300):
        call = asyncio.create_task(call_in_thread(short, 0.0002))
        await asyncio.sleep(0.0004 * (number % 10) / 10)
        call.cancel()
        await asyncio.wait([call])
        assert await call_in_thread(short, 0.00005) == "done"
    assert comes_true(lambda: hung_threads() == 0)


async def test_a_call_that_is_cancelled_before_it_began_never_runs() -> None:
    ran: list[int] = []
    call = asyncio.create_task(call_in_thread(ran.append, 1))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await call_in_thread(lambda: "next") == "next"
    assert ran == []


async def test_idle_threads_end_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_S", 0.05)
    monkeypatch.setattr(threads, "_idle", [])
    name = await call_in_thread(lambda: threading.current_thread().name)
    assert comes_true(lambda: name not in {thread.name for thread in threading.enumerate()})
    assert await call_in_thread(lambda: "again") == "again"


def test_a_loop_that_is_gone_does_not_trouble_a_thread_that_comes_back_late() -> None:
    may_end = threading.Event()

    async def start() -> None:
        waiting = threads._Call(lambda: may_end.wait(5))  # pyright: ignore[reportPrivateUsage]
        threads._worker().calls.put(waiting)  # pyright: ignore[reportPrivateUsage]
        await asyncio.sleep(0.01)

    asyncio.run(start())
    may_end.set()
    assert asyncio.run(call_in_thread(lambda: "fine")) == "fine"


async def test_a_thread_that_wakes_up_after_it_was_given_up_is_told_then() -> None:
    may_wake, steps = threading.Event(), list[int]()

    def sleepy() -> None:
        may_wake.wait(60)
        while True:
            steps.append(1)
            time.sleep(0.001)

    await cut_off(asyncio.create_task(call_in_thread(sleepy)))
    await asyncio.sleep(0.05)
    may_wake.set()
    assert comes_true(lambda: hung_threads() == 0)
    assert steps


async def test_where_threads_have_no_clock_they_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(time, "pthread_getcpuclockid")
    monkeypatch.setattr(threads, "_idle", [])

    def spin() -> None:
        while True:
            pass

    await cut_off(asyncio.create_task(call_in_thread(spin)))
    assert comes_true(lambda: hung_threads() == 0)


async def test_a_call_that_ends_by_itself_after_it_was_given_up_needs_no_telling() -> None:
    def short() -> None:
        time.sleep(0.1)

    await cut_off(asyncio.create_task(call_in_thread(short)), after_s=0.02)
    assert comes_true(lambda: hung_threads() == 0)
    assert comes_true(lambda: "endstop-stopper" not in {one.name for one in threading.enumerate()})


@pytest.mark.guarantee("A11")
def test_a_process_with_a_hung_tool_can_still_leave() -> None:
    code = """
import asyncio, time
from endstop.ports import ToolContext
from endstop.tools import tool, hung_threads

@tool
def hang() -> None:
    time.sleep(3600)

async def main() -> None:
    try:
        await asyncio.wait_for(hang.call("{}", ToolContext(run_id="r", scope="s", turn=0, call="c")), 0.1)
    except TimeoutError:
        print("cut off", hung_threads())

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout == "cut off 1\n"
    assert done.stderr == ""


@pytest.mark.guarantee("A11")
def test_the_way_through_a_thread_is_short() -> None:
    async def measure() -> float:
        await call_in_thread(int)
        best = float("inf")
        for _ in range(5):
            before = time.perf_counter()
            for _ in range(300):
                await call_in_thread(int)
            best = min(best, (time.perf_counter() - before) / 300)
        return best

    # 30 µs on an idle machine; the bound leaves room for one that is busy.
    assert asyncio.run(measure()) < 0.001
