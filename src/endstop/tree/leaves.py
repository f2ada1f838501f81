"""Functions that trees may name: conditions and actions, registered under dotted names.

    leaves = Leaves()

    @leaves.condition("budget.is_over_budget")
    def is_over_budget(leaf: LeafContext) -> bool: ...

    @leaves.action("turn.take_turn", cost=LeafCost(turns=1))
    async def take_turn(leaf: LeafContext) -> bool: ...

A tree file names these and nothing else: never a path to import. What a leaf is given in ``args`` are its
keyword-only parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from endstop.errors import InvalidValueError
from endstop.kernel.texts import closest
from endstop.tree.blackboard import Blackboard
from endstop.tree.spec import KeyType
from endstop.tree.status import RunStatus

Condition: TypeAlias = Callable[..., bool]
Answer: TypeAlias = RunStatus | bool | None
"""How an action went. None is success; a running action is asked again at the next tick."""
Action: TypeAlias = Callable[..., Answer | Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafContext:
    """What a leaf is given: the blackboard, and whatever the tree runs on."""

    blackboard: Blackboard | None
    """None where there is none: a condition fails then, and never raises."""
    services: Any = None
    """What the tree runs on: the engine's own ``Services``, with more behind it for leaves that know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafCost:
    """What one run of an action can use at most, for upper bounds (A13)."""

    turns: int = 0
    runs_tools: bool = False
    """It runs the tool calls of a reply: as many as the configuration allows per turn."""
    tool_calls: int = 0


_FREE = LeafCost()


def _no_keys() -> Mapping[str, KeyType]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A registered function."""

    name: str
    function: Callable[..., Any]
    is_action: bool
    is_async: bool
    doc: str
    parameters: Mapping[str, inspect.Parameter]
    """Its keyword-only parameters, by name."""
    writes: Mapping[str, KeyType] = field(default_factory=_no_keys)
    """The keys it writes. A tree need not declare them; if it does, the types must agree."""
    cost: LeafCost = _FREE


_Function = TypeVar("_Function", bound=Callable[..., Any])


class Leaves:
    """The functions that trees may name."""

    def __init__(self) -> None:
        self._leaves: dict[str, Leaf] = {}

    def condition(self, name: str) -> Callable[[_Function], _Function]:
        """Register a condition: a plain function that answers at once."""
        return self._registering(name, is_action=False, writes=None, cost=_FREE)

    def action(
        self, name: str, *, writes: Mapping[str, KeyType] | None = None, cost: LeafCost = _FREE
    ) -> Callable[[_Function], _Function]:
        """Register an action: a plain function, or a coroutine function for what takes time."""
        return self._registering(name, is_action=True, writes=writes, cost=cost)

    def get(self, name: str) -> Leaf | None:
        return self._leaves.get(name)

    def closest(self, name: str, *, is_action: bool) -> str | None:
        """The name that was probably meant."""
        return closest(name, [leaf.name for leaf in self if leaf.is_action is is_action])

    def __len__(self) -> int:
        return len(self._leaves)

    def __iter__(self) -> Iterator[Leaf]:
        return iter(self._leaves.values())

    def __contains__(self, name: object) -> bool:
        return name in self._leaves

    def _registering(
        self, name: str, *, is_action: bool, writes: Mapping[str, KeyType] | None, cost: LeafCost
    ) -> Callable[[_Function], _Function]:
        def register(function: _Function) -> _Function:
            if not name or name in self._leaves:
                raise InvalidValueError("name of a leaf", name, allowed="each name once, and not empty")
            is_async = inspect.iscoroutinefunction(function)
            if is_async and not is_action:
                raise InvalidValueError(
                    "condition", name, allowed="a plain function: a condition must not take time"
                )
            self._leaves[name] = Leaf(
                name=name,
                function=function,
                is_action=is_action,
                is_async=is_async,
                doc=inspect.getdoc(function) or "",
                parameters=MappingProxyType(
                    {
                        parameter.name: parameter
                        for parameter in inspect.signature(function).parameters.values()
                        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
                    }
                ),
                writes=MappingProxyType(dict(writes or {})),
                cost=cost,
            )
            return function

        return register
