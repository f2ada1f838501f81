"""Runs a run with a tool that has effects in process after process, each killed in the middle of its work.

It imports everything once and forks, so that hundreds of kills take seconds. After each kill it looks at the
record from outside; the last process is let alone until the run has ended. Prints what it saw as JSON.

Usage: python crashing_runs.py DATABASE_URL FOLDER KILLS SEED
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from endstop.app import SystemClock
from endstop.events.codec import encode
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.loop import Agent
from endstop.ports import ModelRequest, ToolMessage
from endstop.runner import Runner
from endstop.store import open_store
from endstop.testing import ScriptedModel, calls
from endstop.testing.replies import ScriptedReply
from endstop.tools import tool
from forking import forked

RUN = "run_crash"
LONGEST_LIFE_S = 0.03


def agent(effects: Path, begun: Callable[[], None] = lambda: None) -> Agent:
    """An agent that writes to a file, and takes a moment over it. ``begun`` is called at each turn."""

    def next_step(request: ModelRequest) -> ScriptedReply:
        """Act on the next number: one more than there are results, whatever became of them."""
        begun()
        done = sum(isinstance(message, ToolMessage) for message in request.messages)
        return calls("act", number=done)

    def log(line: str) -> None:
        with effects.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    @tool(changes_something=True)
    async def act(number: int) -> str:
        """Have an effect."""
        log(f"start {number}")
        await asyncio.sleep(0.002)
        log(f"end {number}")
        return f"done {number}"

    budget = Budget(turns=100_000, tokens=10**9, seconds=3_000, cost_usd=1_000)
    return Agent(model=ScriptedModel(next_step), tools=(act,), config=AgentConfig(budget=budget))


async def work(
    url: str, effects: Path, *, is_first: bool, is_ready_early: bool, ready: Callable[[], None]
) -> None:
    """Work on the run. The process is ready to be killed as it opens the store, or at its first turn."""
    store = await open_store(url)
    runner = Runner(store, clock=SystemClock())
    pending = [ready]

    def begun() -> None:
        if pending:
            pending.pop()()

    if is_ready_early:
        begun()
    if is_first:
        await runner.run(agent(effects, begun), "Have effects.", run_id=RUN)
    else:
        await runner.resume(RUN, agent=agent(effects, begun))


async def finish(url: str, effects: Path) -> None:
    """Resume it one last time, and end it after a few turns."""
    store = await open_store(url)
    runner = Runner(store, clock=SystemClock())
    run_id = await runner.resume_in_background(RUN, agent=agent(effects))
    await asyncio.sleep(0.05)
    await runner.cancel(run_id, by="the test", after_turn=True)
    await runner.wait(run_id)
    await store.close()


async def opened(url: str) -> None:
    """Make the tables."""
    await (await open_store(url)).close()


async def record_lines(url: str) -> list[str]:
    store = await open_store(url)
    try:
        return [encode(fact) for fact in await store.record(RUN)]
    finally:
        await store.close()


def killed_at_random(url: str, effects: Path, chance: random.Random, *, is_first: bool) -> int:
    """One life of the run: begun, and killed at some moment. Returns its exit status."""
    is_early = chance.random() < 0.25
    process, reading = forked(
        lambda ready: asyncio.run(work(url, effects, is_first=is_first, is_ready_early=is_early, ready=ready))
    )
    os.read(reading, 1)  # ends when the child has closed its side, by beginning or by dying
    os.close(reading)
    time.sleep(chance.random() * LONGEST_LIFE_S)
    os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


def in_a_process(body: Callable[[], None]) -> int:
    process, reading = forked(lambda _: body())
    os.close(reading)
    return os.waitpid(process, 0)[1]


def main() -> None:
    url, folder, kills, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    effects = folder / "effects.log"
    effects.touch()
    snapshot = folder / "record.jsonl"
    chance = random.Random(seed)
    agent(effects)  # imports what tools need, once for all the processes to come
    in_a_process(lambda: asyncio.run(opened(url)))
    began = time.monotonic()
    lengths: list[int] = []
    is_prefix = True
    before: list[str] = []

    def save() -> None:
        snapshot.write_text("\n".join(asyncio.run(record_lines(url))), encoding="utf-8")

    def look() -> list[str]:
        """The record from outside, read in a process of its own: this one must stay without threads."""
        in_a_process(save)
        return snapshot.read_text(encoding="utf-8").splitlines() if snapshot.exists() else []

    statuses: list[int] = []
    while len(lengths) < kills:
        statuses.append(killed_at_random(url, effects, chance, is_first=not before))
        after = look() if len(lengths) % 10 == 9 or not before else before
        is_prefix = is_prefix and after[: len(before)] == before
        before = after
        lengths.append(len(after))
    status = in_a_process(lambda: asyncio.run(finish(url, effects)))
    after = look()
    is_prefix = is_prefix and after[: len(before)] == before
    sys.stdout.write(
        json.dumps(
            {
                "is_prefix": is_prefix,
                "finish_status": status,
                "killed": sum(each == signal.SIGKILL for each in statuses),
                "others": [each for each in statuses if each != signal.SIGKILL][:5],
                "wall_s": time.monotonic() - began,
                "facts": len(after),
            }
        )
    )


if __name__ == "__main__":
    main()
