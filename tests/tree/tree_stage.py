"""What the tests of the engine play on: scripted leaves that keep a log, and services with a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from endstop.tree.blackboard import Blackboard
from endstop.tree.engine import Tree
from endstop.tree.leaves import LeafContext, Leaves
from endstop.tree.spec import KeySpec, KeyType, NodeSpec, TreeSpec
from endstop.tree.status import RunStatus

ANSWERS = {"s": RunStatus.SUCCESS, "f": RunStatus.FAILURE, "r": RunStatus.RUNNING}
LETTERS = {status: letter for letter, status in ANSWERS.items()}


@dataclass
class PlainShare:
    """A share that is used up when a test says so."""

    limits: Mapping[str, int | float | str]
    is_used_up: bool = False
    closed: int = 0

    def close(self) -> None:
        self.closed += 1


@dataclass
class StageServices:
    """A clock that stands still, or another one; a model and tools that answer what they are told to."""

    time_s: float = 100.0
    clock: Callable[[], float] | None = None
    calls: list[object] = field(default_factory=list[object])
    answers: list[str | BaseException | None] = field(default_factory=list[Any])
    shares: dict[str, PlainShare] = field(default_factory=dict[str, PlainShare])
    refuses_shares: bool = False

    @property
    def now_s(self) -> float:
        return self.time_s if self.clock is None else self.clock()

    async def llm_call(self, *, prompt: str, offers_tools: bool) -> str | None:
        self.calls.append((prompt, offers_tools))
        return self._answer()

    async def tool_call(self, tool: str, arguments: Mapping[str, object]) -> str | None:
        self.calls.append((tool, dict(arguments)))
        return self._answer()

    def open_share(self, name: str, limits: Mapping[str, int | float | str]) -> PlainShare:
        if self.refuses_shares:
            raise RuntimeError("nothing is left to share")
        self.shares[name] = PlainShare(limits)
        return self.shares[name]

    def _answer(self) -> str | None:
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Stage:
    """Leaves that play what is written for them, and what came of it."""

    def __init__(self) -> None:
        self.services = StageServices()
        self.log: list[str] = []
        self.played: dict[str, int] = {}
        """How often each scripted leaf was asked: it goes on with its script wherever it is asked again."""
        self.beside: dict[str, list[asyncio.Future[object]]] = {}
        """What the leaves that take time wait for."""
        self.seen: list[Any] = []
        """What was given to the leaves that look."""
        self.leaves = Leaves()
        self.leaves.action("play")(self._play)
        self.leaves.condition("is")(self._is)
        self.leaves.action("wait")(self._wait)
        self.leaves.action("write")(self._write)
        self.leaves.action("look")(self._look)
        self.leaves.action("stubborn")(self._stubborn)

    def tree(
        self,
        root: NodeSpec,
        *,
        keys: Sequence[KeySpec] = (),
        subtrees: Sequence[TreeSpec] = (),
        counts: Mapping[str, int] = MappingProxyType({}),
        blackboard: Blackboard | None = None,
        is_traced: bool = False,
        is_timed: bool = False,
    ) -> Tree:
        spec = TreeSpec(name="stage", file="stage.lua", root=root, keys=tuple(keys), subtrees=tuple(subtrees))
        return Tree(
            spec,
            leaves=self.leaves,
            services=self.services,
            counts=counts,
            blackboard=blackboard,
            is_traced=is_traced,
            is_timed=is_timed,
        )

    def ticked(self, tree: Tree, ticks: int) -> list[str]:
        """For each tick: the leaves that were asked, and how the root stood then."""
        found: list[str] = []
        for _ in range(ticks):
            self.log.clear()
            status = tree.tick()
            found.append(f"{''.join(self.log)} {LETTERS[status]}".strip())
        return found

    def finish(self, name: str, answer: object = None) -> None:
        """Let the one that waits under this name answer."""
        waiter = self.beside[name][-1]
        if isinstance(answer, BaseException):
            waiter.set_exception(answer)
        else:
            waiter.set_result(answer)

    def _play(self, leaf: LeafContext, *, name: str, answers: str) -> RunStatus:
        return ANSWERS[self._next(name, answers)]

    def _is(self, leaf: LeafContext, *, name: str, answers: str) -> bool:
        return self._next(name, answers) == "s"

    def _next(self, name: str, answers: str) -> str:
        self.log.append(name)
        at = self.played[name] = self.played.get(name, -1) + 1
        return answers[at % len(answers)]

    async def _wait(self, leaf: LeafContext, *, name: str) -> object:
        self.log.append(f"{name} began")
        waiter = asyncio.get_running_loop().create_future()
        self.beside.setdefault(name, []).append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            self.log.append(f"{name} cancelled")
            raise

    def _write(self, leaf: LeafContext, *, key: str, value: object, answers: str = "s") -> RunStatus:
        assert leaf.blackboard is not None
        leaf.blackboard.set(key, value)
        return self._play(leaf, name=f"[{key}]", answers=answers)

    def _look(self, leaf: LeafContext, *, value: object) -> None:
        self.seen.append(value)

    async def _stubborn(self, leaf: LeafContext, *, name: str, times: int) -> None:
        """Takes no notice of being cancelled, so many times."""
        self.log.append(f"{name} began")
        while True:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                times -= 1
                if times < 0:
                    self.log.append(f"{name} let go")
                    raise


def node(kind: str, *children: NodeSpec, name: str = "", **parameters: Any) -> NodeSpec:
    return NodeSpec(kind=kind, name=name or kind, parameters=parameters, children=children, line=7)


def plays(name: str, answers: str) -> NodeSpec:
    """An action that answers at once, each time with the next of its letters: s, f or r for running."""
    return node("action", name=name, fn="play", args={"name": name, "answers": answers})


def condition(name: str, answers: str) -> NodeSpec:
    return node("condition", name=name, fn="is", args={"name": name, "answers": answers})


def waits(name: str) -> NodeSpec:
    """An action that takes time."""
    return node("action", name=name, fn="wait", args={"name": name})


def writes(key: str, value: object, answers: str = "s") -> NodeSpec:
    return node(
        "action", name=f"write {key}", fn="write", args={"key": key, "value": value, "answers": answers}
    )


def looks(value: object) -> NodeSpec:
    return node("action", name="look", fn="look", args={"value": value})


def key(name: str, type_: KeyType = KeyType.ANY, default: Any = None) -> KeySpec:
    return KeySpec(name=name, type=type_, default=default)


async def settle() -> None:
    """Let everything that can go on at once do so."""
    for _ in range(5):
        await asyncio.sleep(0)


def other_tasks() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # pyright: ignore[reportReturnType]
