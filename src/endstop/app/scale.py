"""Many machines: a runner that hands out, and a worker that is handed to, on one PostgreSQL database."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from endstop.app.agents import agent_of
from endstop.app.config import Config
from endstop.coding import CODING
from endstop.errors import InvalidValueError
from endstop.events.facts import RunStarted
from endstop.guard.clock import SystemClock
from endstop.loop.agent import Agent
from endstop.models.paced import Gate
from endstop.ports import Store
from endstop.runner import Runner
from endstop.runner.runner import AgentOf
from endstop.store import open_store

try:
    from endstop.runner.scale.children import Children
    from endstop.runner.scale.dispatcher import Dispatcher
    from endstop.runner.scale.engine import Engine
    from endstop.runner.scale.worker import Worker
except ImportError:
    raise InvalidValueError(
        "workers",
        "not installed",
        allowed="the queue of runs, which comes with the extra scale",
        to_do="Run: pip install 'endstop[scale]'",
    ) from None


@asynccontextmanager
async def open_dispatcher(config: Config, store: Store) -> AsyncGenerator[Dispatcher]:
    """A runner that hands runs out."""
    async with Engine(config.database_url) as engine:
        yield Dispatcher(store, engine, clock=SystemClock(), agent_of=agent_of)


@asynccontextmanager
async def open_worker(
    config: Config,
    *,
    concurrency: int,
    queues: Sequence[str] | None = None,
    per_user: int | None = None,
    per_model: int | None = None,
    rates: Mapping[str, float] | None = None,
) -> AsyncGenerator[Worker]:
    """A worker, ready to work. ``rates``: calls per minute by model, of all workers together."""
    engine = Engine(config.database_url)
    made_by = agent_of if not rates else paced_agents(Gate(rates, engine.wait_for))
    async with engine:
        store = await open_store(config.database_url)
        runner = Runner(store, clock=SystemClock(), agent_of=made_by)
        runner.elsewhere = Children(store, engine, runner, clock=SystemClock(), agent_of=made_by)
        try:
            yield Worker(
                store,
                engine,
                runner,
                concurrency=concurrency,
                queues=queues,
                per_user=per_user,
                per_model=per_model,
            )
        finally:
            await runner.shutdown()
            await store.close()


def paced_agents(gate: Gate) -> AgentOf:
    """Makes agents anew whose models wait at a gate."""

    def made(started: RunStarted) -> Agent | None:
        if started.agent == CODING:
            from endstop.app.coding import remade_session

            return remade_session(started, paced=gate.paced)
        agent = agent_of(started)
        return None if agent is None else replace(agent, model=gate.paced(agent.model))

    return made
