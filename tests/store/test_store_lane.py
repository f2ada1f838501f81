"""The threads behind a store: several event loops, nobody left waiting, nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from store_facts import begun, facts, turn

from endstop.errors import StoreError
from endstop.events.facts import Fact
from endstop.ports import Store
from endstop.store import open_store
from endstop.store.lane import Job, Lane
from endstop.store.patience import be_patient

_others: set[threading.Thread] = set()


@pytest.fixture(autouse=True)
def count_own_threads_only() -> None:
    """Some tests leave threads behind that nobody can end, for functions that never return."""
    _others.clear()
    _others.update(threading.enumerate())


def our_threads() -> list[str]:
    new = set(threading.enumerate()) - _others
    return [thread.name for thread in new if thread.name.startswith("endstop-")]


def open_files(folder: Path) -> list[str]:
    found: list[str] = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        if target.startswith((str(folder), "socket:")):
            found.append(target)
    return sorted(found)


async def appended(store: Store, some: Sequence[Fact]) -> None:
    await store.append(some)


async def test_after_closing_no_thread_file_or_connection_is_left(database_url: str, tmp_path: Path) -> None:
    gc.collect()
    before = open_files(tmp_path)
    for _ in range(3):
        store = await open_store(database_url)
        await store.append(begun(f"run-{os.urandom(4).hex()}"))
        await store.runs()
        await store.record((await store.runs())[0].run_id)
        assert len(our_threads()) == 3
        await store.close()
        assert our_threads() == []
    assert open_files(tmp_path) == before


async def test_a_store_that_could_not_be_opened_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        await open_store(f"sqlite:///{tmp_path}")
    assert our_threads() == []


def test_a_store_outlives_an_event_loop(database_url: str) -> None:
    store = asyncio.run(open_store(database_url))
    asyncio.run(appended(store, begun()))
    asyncio.run(appended(store, facts("run-1", *turn(1), first=5)))
    assert len(asyncio.run(store.record("run-1"))) == 9
    asyncio.run(store.close())
    assert our_threads() == []


def test_a_store_serves_several_event_loops_at_once(database_url: str) -> None:
    store = asyncio.run(open_store(database_url))

    async def go(name: str) -> None:
        await asyncio.gather(*(store.append(begun(f"{name}-{number}")) for number in range(20)))

    def in_a_loop_of_its_own(name: str) -> None:
        asyncio.run(go(name))

    threads = [threading.Thread(target=in_a_loop_of_its_own, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asyncio.run(store.runs(most=100))) == 60
    asyncio.run(store.close())


def test_an_event_loop_that_ended_early_hurts_nobody(database_url: str) -> None:
    store = asyncio.run(open_store(database_url))

    async def leave_at_once() -> None:
        tasks = [asyncio.ensure_future(store.append(begun(f"left-{number}"))) for number in range(20)]
        await asyncio.sleep(0)
        assert len(tasks) == 20

    asyncio.run(leave_at_once())
    asyncio.run(appended(store, begun()))
    assert len(asyncio.run(store.runs())) == 21
    asyncio.run(store.close())


class Broken:
    """A worker with a bug of the worst kind."""

    def serve(self, jobs: Sequence[Job[Any]]) -> None:
        jobs[0].result = "done"
        raise SystemExit("no")

    def close(self) -> None: ...


async def test_a_worker_that_breaks_leaves_nobody_waiting() -> None:
    lane = Lane[str](Broken(), name="endstop-broken")
    for _ in range(2):
        with pytest.raises(StoreError, match="broke with SystemExit: no"):
            await asyncio.wait_for(lane.do("something"), timeout=5)
    await lane.close()


async def test_a_lane_that_was_never_used_can_be_closed() -> None:
    lane = Lane[str](Broken(), name="endstop-idle")
    await lane.close()
    with pytest.raises(StoreError, match="closed"):
        await lane.do("something")


class Slow:
    """A worker that takes its time, and tells how much it was given at once."""

    def __init__(self) -> None:
        self.given: list[int] = []
        self.may_go_on = threading.Event()

    def serve(self, jobs: Sequence[Job[Any]]) -> None:
        self.given.append(len(jobs))
        assert self.may_go_on.wait(5)

    def close(self) -> None: ...


async def test_what_waits_is_given_to_the_worker_at_once_but_not_without_bound() -> None:
    worker = Slow()
    lane = Lane[int](worker, name="endstop-slow", most_at_once=10)
    jobs = [asyncio.ensure_future(lane.do(number)) for number in range(26)]
    while not worker.given:
        await asyncio.sleep(0.001)
    worker.may_go_on.set()
    await asyncio.gather(*jobs)
    await lane.close()
    assert sum(worker.given) == 26
    assert max(worker.given) == 10


class Noting:
    """Does nothing but remember in which order, and waits before the first job until it is told to go on."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.go_on = threading.Event()
        self.done: list[list[str]] = []

    def serve(self, jobs: Sequence[Job[Any]]) -> None:
        self.has_begun.set()
        self.go_on.wait(10)
        self.done.append([job.task for job in jobs])

    def close(self) -> None: ...


async def test_those_who_are_patient_give_way_and_keep_their_order() -> None:
    worker = Noting()
    lane = Lane[str](worker, name="endstop-test", most_at_once=3)
    under_way = lane.hand_in("under way")
    await asyncio.to_thread(worker.has_begun.wait, 10)

    async def patient() -> list[asyncio.Future[Any]]:
        be_patient()
        return [lane.hand_in(f"patient {number}") for number in range(4)]

    waiting = await asyncio.create_task(patient())
    waiting += [lane.hand_in("always patient", gives_way=True), lane.hand_in("first"), lane.hand_in("second")]
    worker.go_on.set()
    await asyncio.gather(under_way, *waiting)
    await lane.close()
    assert worker.done == [
        ["under way"],
        ["first", "second"],
        ["patient 0", "patient 1", "patient 2"],
        ["patient 3", "always patient"],
    ]


async def test_a_lane_that_is_closed_still_does_what_was_handed_in() -> None:
    worker = Noting()
    lane = Lane[str](worker, name="endstop-test", most_at_once=1)
    waiting = [lane.hand_in(f"{number}", gives_way=number % 2 == 0) for number in range(6)]
    worker.go_on.set()
    await lane.close()
    await asyncio.gather(*waiting)
    assert sorted(task for jobs in worker.done for task in jobs) == [f"{number}" for number in range(6)]
