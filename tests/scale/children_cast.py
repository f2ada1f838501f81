"""Runs with sub-agents on other machines: a boss that has questions answered, readers, and the machines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from endstop.errors import UnknownRunError
from endstop.events.audit import audit
from endstop.events.facts import Fact, RunStarted
from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.outcome import Outcome
from endstop.kernel.review import RunPhase
from endstop.loop import Agent
from endstop.ports import AssistantMessage, ModelRequest, Store, Tool, ToolContext
from endstop.runner import Run, Runner
from endstop.runner.scale.children import Children
from endstop.runner.scale.engine import Engine
from endstop.runner.scale.worker import Worker
from endstop.store import open_store
from endstop.testing import ScriptedModel, calls, reply
from endstop.testing.counting import DEFAULT_PRICE, ScriptedPrice
from endstop.tools import tool

T = TypeVar("T")
SOON_S = 15.0


def turns_taken(request: ModelRequest) -> int:
    return sum(isinstance(message, AssistantMessage) for message in request.messages)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SOON_S):
        while not await holds():
            await asyncio.sleep(0.02)


@dataclass
class Cast:
    """The agents of a test. Every machine can make the reader anew, and the boss too."""

    questions: tuple[str, ...] = ("Read.",)
    carved: Budget | None = field(default_factory=lambda: Budget(turns=6, tokens=20_000))
    boss_budget: Budget = field(default_factory=lambda: Budget(turns=20, tokens=100_000, seconds=60))
    reads: int = 2
    """How many tools the reader calls before it answers; with ``holds``, it waits in the last."""
    holds: bool = False
    look_s: float = 0.0
    """How long each takes."""
    price: ScriptedPrice | None = DEFAULT_PRICE
    ask_timeout_s: float | None = None
    asks_again: bool = True
    """Whether the boss asks again for what was interrupted."""
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    def agent_of(self, started: RunStarted) -> Agent | None:
        made = {"boss": self.boss, "reader": self.reader}.get(started.agent)
        return None if made is None else made()

    def reader(self, **parts: Any) -> Agent:
        @tool
        async def look(page: int) -> str:
            self.reading.set()
            if self.holds and page == self.reads:
                await self.let_go.wait()
            await asyncio.sleep(self.look_s)
            return f"page {page}"

        def answer(request: ModelRequest) -> Any:
            taken = turns_taken(request)
            return calls("look", page=taken + 1) if taken < self.reads else "It is so."

        model = ScriptedModel(answer, name="test:reader", price=self.price)
        config = AgentConfig(budget=Budget(turns=50, tokens=50_000))
        return replace(Agent(name="reader", model=model, tools=(look,), config=config), **parts)

    def boss(self, **parts: Any) -> Agent:
        return Agent(
            name="boss",
            model=ScriptedModel(self._boss_says, name="test:boss", price=self.price),
            tools=(self.ask(),),
            config=AgentConfig(budget=self.boss_budget),
            **parts,
        )

    def _boss_says(self, request: ModelRequest) -> Any:
        results = [message.text for message in request.messages if type(message).__name__ == "ToolMessage"]
        was_cut = bool(results) and results[-1].startswith(("Interrupted", "Cancelled"))
        if not results or (was_cut and self.asks_again):
            return reply(calls=[calls("ask", question=question) for question in self.questions])
        return "All read."

    def ask(self) -> Tool:
        @tool(timeout_s=self.ask_timeout_s)
        async def ask(context: ToolContext, question: str) -> str:
            assert context.run_child is not None
            outcome = await context.run_child(self.reader(), question, budget=self.carved, elsewhere=True)
            self.outcomes.append(outcome)
            return str(outcome)

        return ask


@dataclass(frozen=True)
class Machine:
    """A process of a test's own, as far as the database can tell."""

    store: Store
    engine: Engine
    runner: Runner
    children: Children

    async def facts(self, run_id: str) -> list[Fact]:
        return await self.store.record(run_id)

    async def has_ended(self, run_id: str) -> bool:
        try:
            return (await self.store.run(run_id)).phase is RunPhase.ENDED
        except UnknownRunError:
            return False

    async def require_ended(self, run_id: str) -> list[Fact]:
        """Wait for its end, and audit it."""
        await until(lambda: self.has_ended(run_id))
        facts = await self.facts(run_id)
        found = audit(facts)
        assert found, str(found)
        return facts


@asynccontextmanager
async def machine(url: str, cast: Cast, *, patience_s: float = 30.0) -> AsyncGenerator[Machine]:
    """A machine that works on what it is given by hand, and takes nothing out of the queue."""
    store = await open_store(url)
    async with Engine(url) as engine:
        runner = Runner(store, clock=SystemClock(), agent_of=cast.agent_of)
        children = Children(
            store, engine, runner, clock=SystemClock(), agent_of=cast.agent_of, patience_s=patience_s
        )
        runner.elsewhere = children
        try:
            yield Machine(store, engine, runner, children)
        finally:
            await runner.shutdown(seconds=0.2)
            await store.close()


@asynccontextmanager
async def working(
    url: str, cast: Cast, *, concurrency: int = 4, patience_s: float = 30.0
) -> AsyncGenerator[Machine]:
    """A machine that takes runs out of the queue."""
    async with machine(url, cast, patience_s=patience_s) as made:
        worker = Worker(
            made.store, made.engine, made.runner, concurrency=concurrency, beat_s=0.2, silent_s=2.0
        )
        task = asyncio.create_task(worker.run())
        try:
            yield made
        finally:
            await worker.drain(seconds=0.5)
            await asyncio.wait((task,), timeout=3)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def of(run: Run | list[Fact], kind: type[T]) -> list[T]:
    facts = run.facts if isinstance(run, Run) else run
    return [fact.payload for fact in facts if isinstance(fact.payload, kind)]
