"""Agents made by chance, from a seed: models that do anything, budgets of any kind, children, reviewers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from endstop.errors import ModelBrokeOffError, ModelOverloadedError, ModelUnreachableError, StoreError
from endstop.events.facts import Fact
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.escalation import Escalation
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review, ReviewDecision
from endstop.loop import Agent, OnLimit, Retries
from endstop.ports import ModelRequest, ModelUsage, Tool, ToolContext, ToolResult, ToolTraits
from endstop.testing import MemoryStore, ScriptedModel, ScriptedReply, calls, echo_tool, fails, reply
from endstop.testing.adversaries.wording import words
from endstop.testing.echo import PlainTool
from endstop.tools import tool

_DEEPEST = 2
_AT_ONCE = Retries(first_wait_s=0, longest_wait_s=0.001)


class Chance:
    """Makes the parts of one run. The same seed makes the same parts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def happens(self, part: float) -> bool:
        return self.random.random() < part

    def agent(self) -> Agent:
        parts: dict[str, Any] = {}
        if self.happens(0.3):
            parts["terminal"] = echo_tool("submit")
        if self.happens(0.2):
            parts["awaits_user"] = True
        if self.happens(0.2):
            parts["escalation"] = Escalation(key="work_1", hard=self.random.randint(1, 5))
        if self.happens(0.4):
            parts["on_limit"] = OnLimit.REVIEW
        if self.happens(0.5):
            parts["reviewer"] = self._review
        return self._agent(0, **parts)

    def _agent(self, depth: int, **parts: Any) -> Agent:
        return Agent(
            model=self._model(),
            tools=self._tools(depth),
            config=AgentConfig(budget=self._budget()),
            retries=_AT_ONCE,
            max_output_tokens=self.random.choice([20, 100, 400]),
            **parts,
        )

    def _budget(self) -> Budget:
        some: dict[str, Any] = {"seconds": 20, "finish_reserve": self.random.choice([0, 0.05, 0.3, 0.5])}
        for name, part, values in (
            ("turns", 0.6, range(1, 9)),
            ("tokens", 0.5, (5, 60, 150, 300, 600, 1_500, 5_000)),
            ("cost_usd", 0.3, ("0.0001", "0.0005", "0.003")),
            ("model_calls", 0.3, range(1, 9)),
            ("context_tokens", 0.2, (50, 200, 600)),
            ("tool_calls_per_turn", 0.3, (1, 2, 3)),
            ("parallel_tools", 0.3, (1, 2, 3)),
        ):
            if self.happens(part):
                some[name] = self.random.choice(values)
        if self.happens(0.3):
            some["warn_at"] = {"tokens": self.random.random() / 2, "turns": self.random.random() / 2}
        return Budget(**some)

    def _model(self) -> ScriptedModel:
        return ScriptedModel(
            self._reply,
            keeps_to_cap=self.happens(0.7),
            piece_chars=self.random.choice([None, 3, 20]),
            delay_s=self.random.choice([0, 0, 0, 0.001]),
        )

    def _reply(self, request: ModelRequest) -> ScriptedReply:
        text = self._text()
        names = [spec.name for spec in request.tools] + ["no_such_tool"] * self.happens(0.1)
        wanted = [
            calls(self.random.choice(names), query=words(self.random.randint(1, 6)))
            for _ in range(self.random.choice([1, 1, 1, 2, 4]) if names else 0)
        ]
        kind = self.random.random()
        if kind < 0.55:
            return reply(text=text, calls=wanted, truncated=self.happens(0.05))
        if kind < 0.75:
            return reply(text=text, truncated=self.happens(0.1))
        if kind < 0.9:
            errors = (ModelOverloadedError, ModelBrokeOffError, ModelUnreachableError, RuntimeError)
            return fails(self.random.choice(errors)("by chance"), after=self.random.choice(["", "half a "]))
        return reply(text=text, calls=wanted[:1], usage=self._usage())

    def _text(self) -> str:
        some = words(self.random.randint(1, 10**6))
        reason = words(self.random.randint(1, 4))
        confidence = f"<confidence>{self.random.random()}</confidence>"
        signal = f'<signal type="need_turn"><reason>{reason}</reason>{confidence}</signal>'
        return self.random.choice(["", "", "Text. ", some, some * 5, some + signal])

    def _usage(self) -> ModelUsage:
        some = self.random.randint(0, 500)
        return self.random.choice(
            [
                ModelUsage(),
                ModelUsage(input_tokens=10**5, output_tokens=10**5),
                ModelUsage(input_tokens=some, output_tokens=some),
            ]
        )

    def _tools(self, depth: int) -> tuple[Tool, ...]:
        async def waver(arguments: str) -> ToolResult:
            if self.happens(0.5):
                raise RuntimeError("by chance")
            return ToolResult(text=arguments, is_waiting=self.happens(0.3))

        wavering = PlainTool("waver", waver, traits=ToolTraits(changes_something=self.happens(0.3)))
        if depth == _DEEPEST:
            return echo_tool(), wavering

        @tool
        async def delegate(context: ToolContext, query: str = "") -> str:
            assert context.run_child is not None
            return str(await context.run_child(self._agent(depth + 1), "Dig."))

        return echo_tool(), wavering, delegate

    async def _review(self, review: Review) -> ReviewDecision:
        kinds: list[dict[str, Any]] = [{"turns": 1}, {"turns": 2}, {"tokens": 100}, {"seconds": 1.0}]
        grant = Grant(by="reviewer", why="by chance", **self.random.choice(kinds))
        return self.random.choice(
            [
                Approved(grant=grant),
                NeedsChanges(feedback="Otherwise.", grant=grant),
                Rejected(by="reviewer", why="no"),
            ]
        )


class FlakyStore(MemoryStore):
    """Takes so many more appends, and fails then."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    async def append(
        self, facts: Sequence[Fact], *, owner: str | None = None, conversation_id: str | None = None
    ) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise StoreError("The disk is full")
        await super().append(facts, owner=owner, conversation_id=conversation_id)
