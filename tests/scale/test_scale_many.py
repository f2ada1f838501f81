"""Everything at once: hundreds of runs with effects, while workers, lines, servers and the database fail.

For ``make test-scale``: it takes minutes. ``ENDSTOP_SCALE_RUNS`` and ``ENDSTOP_SCALE_SEED`` change it.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from scale_cast import Play
from scale_clients import Follower, ServerProcess, server
from scale_lines import Line, line_to, restarted
from scale_stage import SILENT_S, Stage, WorkerProcess, at_length, cleared, said, stage, times_taken

from endstop.kernel.observation import CallStatus, ToolFinished
from postgres import PostgresServer

RUNS = int(os.environ.get("ENDSTOP_SCALE_RUNS", "300"))
SEED = int(os.environ.get("ENDSTOP_SCALE_SEED", "8"))
EACH = max(RUNS // 20, 1)
"""One in so many is followed by a client."""
LONGEST_S = 120 + RUNS * 0.6

pytestmark = [at_length, pytest.mark.timeout(LONGEST_S + 60)]


KINDS = ("kill", "kill", "stop", "cut", "freeze", "drain")


class Trouble:
    """Makes trouble for workers, at random moments, until it is told to stop."""

    def __init__(self, on: Stage, line: Line, chance: random.Random) -> None:
        self._on = on
        self._line = line
        self._chance = chance
        self._alive: list[WorkerProcess] = []
        self._first = ["cut", "stop", "kill"]
        """So that none is left out."""
        self.made: list[str] = []

    async def begin(self) -> None:
        self._alive = [
            await self._on.worker(),
            await self._on.worker(url=self._line.url(self._on.url)),
            await self._on.worker(clock_s=240.0),
            await self._on.worker(clock_s=-240.0),
        ]

    async def make(self) -> None:
        kind = self._first.pop() if self._first else self._chance.choice(KINDS)
        self.made.append(kind)
        if kind in ("cut", "freeze"):
            getattr(self._line, kind)()
            await asyncio.sleep(self._chance.uniform(0.2, 2 * SILENT_S))
            self._line.mend()
            return
        worker = self._chance.choice(self._alive)
        if kind == "stop":
            worker.stop()
            await asyncio.sleep(self._chance.uniform(0.2, 2 * SILENT_S))
            worker.wake()
            return
        self._alive.remove(worker)
        if kind == "kill":
            worker.kill()
        else:
            assert await worker.drained(seconds=40) == 0
        self._alive.append(await self._on.worker(clock_s=self._chance.choice([0.0, 240.0, -240.0])))


@pytest.mark.guarantee("H1", "H5", "A9", "A14", "I1")
async def test_hundreds_of_runs_end_once_whatever_fails_around_them(
    own_server: list[PostgresServer], tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    url = own_server[0].url("own")
    async with AsyncExitStack() as stack:
        on = await stack.enter_async_context(stage(url, tmp_path))
        line = await stack.enter_async_context(line_to(url))
        servers = [await stack.enter_async_context(server(url, tmp_path)) for _ in range(2)]
        trouble = Trouble(on, line, chance)
        await trouble.begin()
        plays = [_play(chance) for _ in range(RUNS)]
        ids = [
            await on.start(play, user=f"user{number % 7}" if number % EACH else "ada")
            for number, play in enumerate(plays)
        ]
        followers = [Follower(run_id=run_id, servers=_order(servers, chance)) for run_id in ids[::EACH]]
        following = [asyncio.create_task(follower.follow()) for follower in followers]
        ending = asyncio.create_task(on.ended(ids, seconds=LONGEST_S))
        is_restarted = False
        while not ending.done():
            await asyncio.sleep(chance.uniform(0.5, 2.0))
            if not is_restarted and len(trouble.made) == 3:
                is_restarted = True
                ending.cancel()  # it asks the database, which is about to go
                await asyncio.gather(ending, return_exceptions=True)
                own_server.append(await restarted(own_server[-1], down_s=1.0))
                ending = asyncio.create_task(on.ended(ids, seconds=LONGEST_S))
            await trouble.make()
        await ending
        await asyncio.wait_for(asyncio.gather(*following), 30)
        records = dict(zip(ids, await on.require_sound(ids), strict=True))
        for play, run_id in zip(plays, ids, strict=True):
            assert said(records[run_id]).endswith(play.answer)
        for follower in followers:
            assert follower.text == said(records[follower.run_id])
        statuses = [
            fact.payload.status
            for facts in records.values()
            for fact in facts
            if isinstance(fact.payload, ToolFinished)
        ]
        taken = [times_taken(facts) for facts in records.values()]
        print(  # noqa: T201 - what happened is worth knowing, with -s
            f"\n{trouble.made}\n{await on.engine.counts()}\ninterrupted"
            f" {statuses.count(CallStatus.INTERRUPTED)} of {len(statuses)}, taken at most {max(taken)} times"
        )
        assert is_restarted
        assert CallStatus.INTERRUPTED in statuses
        assert max(taken) > 1
        await cleared(on)


def _play(chance: random.Random) -> Play:
    return Play(
        steps=chance.randrange(2, 12),
        effect_s=chance.uniform(0.01, 1.0),
        think_s=chance.uniform(0.0, 0.2),
        words=chance.randrange(3, 60),
        word_s=chance.uniform(0.0, 0.03),
    )


def _order(servers: list[ServerProcess], chance: random.Random) -> list[ServerProcess]:
    return chance.sample(servers, len(servers))
