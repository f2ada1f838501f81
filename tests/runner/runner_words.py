"""How tests of the runner make agents and runners, and wait for what happens in a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget, Grant
from endstop.loop import Agent, Retries
from endstop.ports import Clock, Message, Model, ModelRequest, Piece, Store, Tool, ToolResult
from endstop.runner import AgentOf, Run, Runner
from endstop.testing import ScriptedModel, calls
from endstop.testing.echo import PlainTool

T = TypeVar("T")


class AttentiveModel(ScriptedModel):
    """A scripted model that keeps what it was asked, whole."""

    def __init__(self, *replies: Any, **options: Any) -> None:
        super().__init__(*replies, **options)
        self.heard: list[tuple[Message, ...]] = []

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        self.heard.append(tuple(request.messages))
        return super().stream(request)

    def texts(self, call: int = -1) -> list[str]:
        return [message.text for message in self.heard[call]]


class Gate:
    """A tool that waits until it is let through, and tells when it has begun."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.opened = asyncio.Event()
        self.tool = PlainTool("gate", self._wait)

    async def _wait(self, arguments: str) -> ToolResult:
        self.begun.set()
        await self.opened.wait()
        return ToolResult(text="through")

    def model(self, last_words: str = "Done.") -> ScriptedModel:
        """Goes to the gate, and is done after it."""
        return ScriptedModel(calls("gate"), last_words)


def agent(model: Model, *tools: Tool, budget: Budget | None = None, **parts: Any) -> Agent:
    config = AgentConfig(budget=budget or Budget(turns=10, tokens=100_000, seconds=30))
    parts.setdefault("retries", Retries(first_wait_s=0.001))
    return Agent(model=model, tools=tools, config=config, **parts)


def runner(store: Store | None, *, clock: Clock | None = None, agent_of: AgentOf | None = None) -> Runner:
    return Runner(store, clock=clock or SystemClock(), agent_of=agent_of)


def more(turns: int = 2, **amounts: Any) -> Grant:
    return Grant(turns=turns, by="ada", why="it is nearly there", **amounts)


def of(run: Run, kind: type[T]) -> list[T]:
    """The payloads of one kind, in their order."""
    return [fact.payload for fact in run.facts if isinstance(fact.payload, kind)]


def require_audit(run: Run) -> None:
    assert run.audit(), str(run.audit())
