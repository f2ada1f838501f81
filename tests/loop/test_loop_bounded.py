"""The overseer: what it starts ends, by itself or not (A11, D10)."""

from __future__ import annotations

import asyncio

import pytest

from endstop.loop.bounded import Ended, Overseer


async def hang() -> None:
    await asyncio.get_running_loop().create_future()


class Stubborn:
    """Takes no notice of being cancelled, so many times."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.cancels = 0

    async def sit(self) -> None:
        while True:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                self.cancels += 1
                if self.cancels > self.times:
                    raise


async def test_what_ends_by_itself_is_said_to() -> None:
    assert await Overseer().run(asyncio.sleep(0)) is Ended.BY_ITSELF


async def test_what_raises_is_told_to_whoever_runs_it() -> None:
    async def fail() -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        await Overseer().run(fail())


async def test_time_that_is_up_ends_it_also_when_there_was_none() -> None:
    assert await Overseer().run(hang(), seconds=0.01) is Ended.OUT_OF_TIME
    assert await Overseer().run(hang(), seconds=-5) is Ended.OUT_OF_TIME


async def test_silence_ends_it_and_a_sign_of_life_puts_that_off() -> None:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    last_sign_s = [began_s]
    loop.call_later(0.03, lambda: last_sign_s.__setitem__(0, loop.time()))
    ended = await Overseer().run(hang(), seconds=5, stall_s=0.05, last_sign_s=lambda: last_sign_s[0])
    assert ended is Ended.STALLED
    assert loop.time() - began_s >= 0.08


async def test_cutting_ends_what_is_under_way_and_what_comes_after() -> None:
    overseer = Overseer()
    running = asyncio.create_task(overseer.run(hang()))
    await asyncio.sleep(0)
    overseer.cut()
    overseer.cut()
    assert await running is Ended.CUT
    assert await overseer.run(hang()) is Ended.CUT
    assert await overseer.pause(5) is False
    assert await overseer.close() == 0


async def test_a_pause_that_nobody_cuts_is_as_long_as_it_is() -> None:
    assert await Overseer().pause(0.001) is True


async def test_time_that_is_up_ends_what_runs_beside_others() -> None:
    assert await Overseer().run_beside(asyncio.sleep(0)) is Ended.BY_ITSELF
    assert await Overseer().run_beside(hang(), seconds=0.01) is Ended.OUT_OF_TIME


async def test_cutting_ends_what_runs_beside_others() -> None:
    overseer = Overseer()
    running = [asyncio.create_task(overseer.run_beside(hang())) for _ in range(3)]
    await asyncio.sleep(0)
    overseer.cut()
    assert await asyncio.gather(*running) == [Ended.CUT] * 3
    assert await overseer.run_beside(hang()) is Ended.CUT


@pytest.mark.guarantee("A11")
@pytest.mark.parametrize("times", [0, 1, 2, 3, 10_000])
async def test_what_will_not_be_cancelled_is_left_behind_and_ended_in_the_end(times: int) -> None:
    before = asyncio.all_tasks()
    overseer, stubborn = Overseer(), Stubborn(times)
    began_s = asyncio.get_running_loop().time()
    seen: list[Ended] = []

    async def drive() -> str:
        if not seen:
            seen.append(await overseer.run(stubborn.sit(), seconds=0.01))
        return "gone on"

    assert await overseer.oversee(drive, seen.append) == "gone on"
    assert seen == [Ended.OUT_OF_TIME]
    assert await overseer.close() == 0
    assert asyncio.get_running_loop().time() - began_s < 0.5
    assert asyncio.all_tasks() == before


@pytest.mark.guarantee("D10")
async def test_a_worker_that_was_left_behind_does_nothing_more() -> None:
    overseer, stubborn = Overseer(), Stubborn(1)
    done: list[str] = []

    async def drive() -> None:
        if not done:
            done.append("begun")
            await overseer.run(stubborn.sit())
            done.append("gone on as if nothing had happened")

    asyncio.get_running_loop().call_later(0.01, overseer.cut)
    await overseer.oversee(drive, lambda reason: done.append(reason.name))
    await overseer.close()
    assert done == ["begun", "CUT"]


@pytest.mark.parametrize("times", [0, 1, 10_000])
async def test_beside_others_too_it_is_not_waited_for(times: int) -> None:
    before = asyncio.all_tasks()
    overseer = Overseer()
    assert await overseer.run_beside(Stubborn(times).sit(), seconds=0.01) is Ended.OUT_OF_TIME
    assert await overseer.close() == 0
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("times", [0, 10_000])
async def test_a_caller_who_is_cancelled_takes_what_it_waits_for_along(times: int) -> None:
    before = asyncio.all_tasks()
    overseer, stubborn = Overseer(), Stubborn(times)

    async def drive() -> Ended:
        return await overseer.run(stubborn.sit())

    running = asyncio.create_task(overseer.oversee(drive, lambda _: None))
    await asyncio.sleep(0.01)
    for _ in range(2):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    await overseer.close()
    assert asyncio.all_tasks() == before


async def test_a_worker_that_is_cancelled_from_outside_while_it_is_cut_ends() -> None:
    overseer = Overseer()

    async def drive() -> Ended:
        return await overseer.run(hang())

    worker = asyncio.create_task(drive())
    await asyncio.sleep(0)
    overseer.cut()
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    await overseer.close()
