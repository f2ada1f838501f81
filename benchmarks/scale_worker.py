"""A worker process for ``bench_scale.py``, and the agent that it and the inline runner drive.

What an agent does stands in its question, so any process can make it anew.

    python benchmarks/scale_worker.py URL CONCURRENCY      says "ready" when it works; ends when it is killed
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict, dataclass

from endstop.app import SystemClock
from endstop.app.collector import set_collector
from endstop.events.facts import RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.loop.agent import Agent, OnLimit
from endstop.ports import ModelRequest, ToolMessage
from endstop.runner import Runner
from endstop.runner.scale.engine import Engine
from endstop.runner.scale.worker import Worker
from endstop.store import open_store
from endstop.testing import ScriptedModel, ScriptedReply, WantedCall, says
from endstop.tools import tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a run does: so many turns with one tool call each, and a last one with the answer."""

    turns: int
    changes_something: bool = False
    """The tool has an effect: what is about to happen is saved before it does."""
    model_s: float = 0.0
    """How long the model takes."""
    most_turns: int = 1_000_000
    """After so many it waits for a review."""

    @property
    def question(self) -> str:
        return json.dumps(asdict(self))


async def look(number: int) -> str:
    """Look a number up."""
    return f"result {number}"


LOOKS = {changes: tool(changes_something=changes)(look) for changes in (False, True)}


def agent(work: Work) -> Agent:
    def reply(request: ModelRequest) -> ScriptedReply:
        turn = sum(isinstance(message, ToolMessage) for message in request.messages)
        if turn >= work.turns:
            return says("Done: that was the last number.")
        return ScriptedReply(calls=(WantedCall(tool="look", arguments=f'{{"number": {turn}}}'),))

    budget = Budget(turns=work.most_turns, tokens=10**10, cost_usd=10**6, seconds=80_000)
    return Agent(
        name="bench",
        model=ScriptedModel(reply, delay_s=work.model_s),
        tools=(LOOKS[work.changes_something],),
        config=AgentConfig(budget=budget),
        on_limit=OnLimit.REVIEW,
    )


def agent_of(started: RunStarted) -> Agent:
    return agent(Work(**json.loads(started.question)))


async def work(url: str, concurrency: int) -> None:
    async with Engine(url) as engine:
        store = await open_store(url)
        runner = Runner(store, clock=SystemClock(), agent_of=agent_of)
        worker = Worker(store, engine, runner, concurrency=concurrency)
        working = asyncio.create_task(worker.run())
        print("ready", flush=True)
        await working


if __name__ == "__main__":
    set_collector()
    asyncio.run(work(sys.argv[1], int(sys.argv[2])))
