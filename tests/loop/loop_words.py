"""How tests of the loop make agents, run them and read what came of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from typing import Any, TypeVar

from endstop.events.facts import Fact
from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.observation import ToolFinished
from endstop.loop import Agent, Retries
from endstop.ports import Message, Model, ModelRequest, Piece, Store, Tool, ToolResult
from endstop.runner import Run, Runner
from endstop.testing import MemoryStore, ScriptedModel
from endstop.testing.adversaries.wording import sentence
from endstop.testing.echo import PlainTool

T = TypeVar("T")

QUICK = Retries(first_wait_s=0.001, longest_wait_s=0.02)


class AttentiveModel(ScriptedModel):
    """A scripted model that keeps what it was asked, whole."""

    def __init__(self, *replies: Any, **options: Any) -> None:
        super().__init__(*replies, **options)
        self.heard: list[tuple[Message, ...]] = []

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        self.heard.append(tuple(request.messages))
        return super().stream(request)

    def texts(self, call: int = -1) -> list[str]:
        """The texts of the messages that it was asked with."""
        return [message.text for message in self.heard[call]]


def agent(model: Model, *tools: Tool, budget: Budget | None = None, **parts: Any) -> Agent:
    """An agent with quick retries. ``must_use_tools`` and other parts of its configuration can be given."""
    configured = {
        name: parts.pop(name)
        for name in ("must_use_tools", "responses", "thresholds", "stop")
        if name in parts
    }
    config = AgentConfig(budget=budget or Budget(turns=10, tokens=100_000, seconds=30), **configured)
    parts.setdefault("retries", QUICK)
    return Agent(model=model, tools=tools, config=config, **parts)


def runner(store: Store | None = None) -> Runner:
    return Runner(MemoryStore() if store is None else store, clock=SystemClock())


async def run(which: Agent, question: str = "Where is the login?", **options: Any) -> Run:
    """Run an agent to its outcome. Every record that ends must stand up to an audit."""
    done = await runner().run(which, question, **options)
    if done.outcome is not None and not type(done.outcome).__name__.endswith(("Review", "User")):
        assert done.audit(), str(done.audit())
    return done


def submit_tool(name: str = "submit") -> PlainTool:
    """A terminal tool: its typed result is the object it was given."""

    async def submit(arguments: str) -> ToolResult:
        return ToolResult(text="Submitted.", value=json.loads(arguments))

    return PlainTool(name, submit, description="Ends the work with its result.")


def of(facts: Iterable[Fact], kind: type[T]) -> list[T]:
    """The payloads of one kind, in their order."""
    return [fact.payload for fact in facts if isinstance(fact.payload, kind)]


def results(done: Run) -> list[tuple[str, str]]:
    """How each tool call was answered: the status, and the words."""
    return [(each.status.value, each.result) for each in of(done.facts, ToolFinished)]


def words_of(sentences: int) -> str:
    """A text in which nothing repeats."""
    return "".join(sentence(number) for number in range(1, sentences + 1))
