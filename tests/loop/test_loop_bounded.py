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


async def test_what_raises_has_ended_by_itself() -> None:
    async def fail() -> None:
        raise RuntimeError("its own affair")

    assert await Overseer().run(fail()) is Ended.BY_ITSELF


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


@pytest.mark.guarantee("A11")
@pytest.mark.parametrize("times", [0, 1, 2, 3, 10_000])
async def test_what_will_not_be_cancelled_is_let_go_and_ended_in_the_end(times: int) -> None:
    before = asyncio.all_tasks()
    overseer, stubborn = Overseer(), Stubborn(times)
    began_s = asyncio.get_running_loop().time()
    assert await overseer.run(stubborn.sit(), seconds=0.01) is Ended.OUT_OF_TIME
    assert await overseer.close() == 0
    assert asyncio.get_running_loop().time() - began_s < 0.5
    assert asyncio.all_tasks() == before


async def test_a_caller_who_is_cancelled_takes_what_it_waits_for_along() -> None:
    before = asyncio.all_tasks()
    overseer, stubborn = Overseer(), Stubborn(10_000)
    running = asyncio.create_task(overseer.run(stubborn.sit()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for _ in range(2):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    await overseer.close()
    assert asyncio.all_tasks() == before
