"""How tests of the oracle make agents that a tree steers, run them, and read what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, TypeVar

from endstop.app.oracle import tree_library
from endstop.events.facts import Fact
from endstop.guard.clock import SystemClock
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.loop import Agent, Retries
from endstop.oracle.leaves import LEAVES
from endstop.oracle.prompting import PromptFiles
from endstop.oracle.services import OracleParts
from endstop.oracle.steering import TreeSteering
from endstop.ports import Message, Model, ModelRequest, Piece, Store, Tool
from endstop.runner import Run, Runner
from endstop.testing import MemoryStore, ScriptedModel
from endstop.tree.files import TreeLibrary
from endstop.tree.lua import read_tree
from endstop.tree.spec import TreeSpec
from endstop.tree.validate import checked

T = TypeVar("T")

QUICK = Retries(first_wait_s=0.001, longest_wait_s=0.02)
PARTS = OracleParts(prompts=PromptFiles(), project="pond")
LIBRARY: TreeLibrary = tree_library()


def signal(kind: str, confidence: float | None = None, **fields: object) -> str:
    """A signal as a model writes it."""
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    sure = "" if confidence is None else f"<confidence>{confidence}</confidence>"
    return f'<signal type="{kind}">{inner}{sure}</signal>'


def need_turn(reason: str = "to look further", confidence: float = 0.9) -> str:
    return signal("need_turn", confidence, reason=reason)


class AttentiveModel(ScriptedModel):
    """A scripted model that keeps what it was asked, whole."""

    def __init__(self, *replies: Any, **options: Any) -> None:
        super().__init__(*replies, **options)
        self.heard: list[tuple[Message, ...]] = []
        self.systems: list[str] = []

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        self.heard.append(tuple(request.messages))
        self.systems.append(request.system)
        return super().stream(request)

    def texts(self, call: int = -1) -> list[str]:
        """The texts of the messages that it was asked with."""
        return [message.text for message in self.heard[call]]


class SlowModel:
    """A model whose pieces come a moment apart."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model
        self.name = model.name
        self.count = model.count
        self.cost_usd = model.cost_usd

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        async for piece in self._model.stream(request):
            await asyncio.sleep(0.002)
            yield piece


def tree_of(lua: str, *, name: str = "own") -> TreeSpec:
    """A tree from Lua text, with our own trees to refer to."""
    return checked(read_tree(lua, file=f"{name}.lua"), _found, leaves=LEAVES)


def our_tree(name: str, *changes: tuple[str, str]) -> TreeSpec:
    """One of our trees with its text changed, as somebody would who edits a copy of it."""
    text = LIBRARY.source(name)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return tree_of(text, name=name)


def with_turn(*changes: tuple[str, str]) -> TreeSpec:
    """The oracle's tree with a changed ``agent-turn``."""
    text = LIBRARY.source("agent-turn")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    turn = read_tree(text, file="agent-turn.lua")
    oracle = read_tree(LIBRARY.source("oracle-agent"), file="oracle-agent.lua")
    return checked(oracle, lambda name: turn if name == "agent-turn" else _found(name), leaves=LEAVES)


def _found(name: str) -> TreeSpec | None:
    path = LIBRARY.path(name) if name in LIBRARY.names() else None
    return None if path is None else read_tree(Path(path).read_text(), file=f"{name}.lua")


def oracle(
    model: Model,
    *tools: Tool,
    budget: Budget | None = None,
    tree: TreeSpec | None = None,
    parts: OracleParts = PARTS,
    **rest: Any,
) -> Agent:
    """An agent that the oracle's tree steers, or another one."""
    config = AgentConfig(
        budget=budget
        or Budget(turns=10, tokens=200_000, seconds=30, tool_calls_per_turn=10, parallel_tools=3)
    )
    rest.setdefault("retries", QUICK)
    steering = TreeSteering(tree=tree or LIBRARY.get("oracle-agent"), leaves=LEAVES, parts=parts)
    return Agent(name="oracle", model=model, tools=tools, config=config, steering=steering, **rest)


def runner(store: Store | None = None) -> Runner:
    return Runner(MemoryStore() if store is None else store, clock=SystemClock())


async def ask(which: Agent, question: str = "Where are the ducks counted?", **options: Any) -> Run:
    """Run an agent to its outcome. Every record that ends must stand up to an audit."""
    done = await runner().run(which, question, **options)
    if done.outcome is not None and not type(done.outcome).__name__.endswith(("Review", "User")):
        assert done.audit(), str(done.audit())
    return done


def of(facts: Iterable[Fact], kind: type[T]) -> list[T]:
    """The payloads of one kind, in their order."""
    return [fact.payload for fact in facts if isinstance(fact.payload, kind)]
