"""From the plan of a tree to nodes that can be ticked: what is done anew for every run.

What a run brings with it stands behind the nodes: its services, its blackboard, its configured counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Any, ClassVar

from endstop.errors import InvalidValueError
from endstop.tree.arguments import filling, resolving
from endstop.tree.blackboard import Blackboard
from endstop.tree.composites import (
    ParallelNode,
    ReactiveSelectorNode,
    ReactiveSequenceNode,
    SelectorNode,
    SequenceNode,
)
from endstop.tree.decorators import (
    BudgetNode,
    CooldownNode,
    EndingNode,
    GuardNode,
    PlainNode,
    ScopeNode,
    TimeoutNode,
)
from endstop.tree.leaf_nodes import ActionNode, CallNode, ConditionNode
from endstop.tree.leaves import LeafContext
from endstop.tree.loops import ForEachNode, RepeatUntilEndingNode, RepeatUntilHoldsNode, RetryNode
from endstop.tree.node import FAILURE, SUCCESS, Check, Node, Pulse
from endstop.tree.planning import Plan, Step
from endstop.tree.problems import Problem, refused
from endstop.tree.services import Services
from endstop.tree.status import RunStatus
from endstop.tree.tasks import Tasks, Work
from endstop.tree.trace import Trace

_COMPOSITES: Mapping[str, Callable[[Sequence[Node]], Node]] = {
    "sequence": SequenceNode,
    "selector": SelectorNode,
    "reactive_sequence": ReactiveSequenceNode,
    "reactive_selector": ReactiveSelectorNode,
}
_ENDINGS: Mapping[str, tuple[RunStatus, RunStatus]] = {
    "inverter": (FAILURE, SUCCESS),
    "always_succeed": (SUCCESS, SUCCESS),
    "always_fail": (FAILURE, FAILURE),
}
"""How they end if their node succeeds, and if it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a node stands: its board, and what its leaf is given. One for all nodes on a board."""

    blackboard: Blackboard
    context: LeafContext


class Builder:
    """Builds the nodes of one tree, for one run."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        *,
        services: Services,
        counts: Mapping[str, int],
        pulse: Pulse,
        tasks: Tasks,
        trace: Trace | None,
    ) -> None:
        self.nodes: dict[int, Node] = {}
        """By index, without what a trace puts before them."""
        self._name = name
        self._steps = plan.steps
        self._services = services
        self._counts = counts
        self._pulse = pulse
        self._tasks = tasks
        self._trace = trace
        self._at = 0
        """The index of the next node: they are built in the order of their steps."""

    def build(self, blackboard: Blackboard) -> Node:
        """The root, with all that is below it."""
        return self._node(self._place(blackboard))

    def _place(self, blackboard: Blackboard) -> _Place:
        context = LeafContext(blackboard=blackboard, services=self._services)
        return _Place(blackboard=blackboard, context=context)

    def _node(self, place: _Place) -> Node:
        """The next node, with all that is below it."""
        index = self._at
        self._at = index + 1
        step = self._steps[index]
        try:
            node = self._MAKERS[step.view.kind](self, step, place)
        except InvalidValueError as error:
            problem = Problem(file=step.file, line=step.given.node.line, what=str(error).rstrip("."))
            raise refused(self._name, (problem,)) from None
        self.nodes[index] = node
        return node if self._trace is None else self._trace.watch(node, step.view)

    def _composite(self, step: Step, place: _Place) -> Node:
        return _COMPOSITES[step.view.kind]([self._node(place) for _ in range(step.children)])

    def _ending(self, step: Step, place: _Place) -> Node:
        on_success, on_failure = _ENDINGS[step.view.kind]
        return EndingNode(self._node(place), on_success=on_success, on_failure=on_failure)

    def _parallel(self, step: Step, place: _Place) -> Node:
        branches = [place.blackboard.branch() for _ in range(step.children)]
        children = [self._node(self._place(branch)) for branch in branches]
        return ParallelNode(
            children, needed=step.given.quorum(), blackboard=place.blackboard, branches=branches
        )

    def _retry(self, step: Step, place: _Place) -> Node:
        most = step.given.count("attempts", self._counts)
        return RetryNode(self._node(place), most=most, pulse=self._pulse)

    def _repeat_until(self, step: Step, place: _Place) -> Node:
        given = step.given
        most = given.count("max", self._counts)
        child = self._node(place)
        if "ends_in" not in given:
            check = self._check(step, place)
            return RepeatUntilHoldsNode(child, most=most, pulse=self._pulse, check=check)
        until = {"success": SUCCESS, "failure": FAILURE}.get(given.text("ends_in"))
        if until is None:
            raise given.wrong("ends_in", '"success" or "failure"')
        return RepeatUntilEndingNode(child, most=most, pulse=self._pulse, until=until)

    def _for_each(self, step: Step, place: _Place) -> Node:
        return ForEachNode(
            self._node(place),
            most=step.given.count("max", self._counts),
            pulse=self._pulse,
            blackboard=place.blackboard,
            items=step.given.text("items"),
            item=step.given.text("item"),
        )

    def _timeout(self, step: Step, place: _Place) -> Node:
        return TimeoutNode(self._node(place), seconds=step.given.seconds("seconds"), pulse=self._pulse)

    def _cooldown(self, step: Step, place: _Place) -> Node:
        return CooldownNode(self._node(place), seconds=step.given.seconds("seconds"), pulse=self._pulse)

    def _guard(self, step: Step, place: _Place) -> Node:
        return GuardNode(self._node(place), check=self._check(step, place))

    def _budget(self, step: Step, place: _Place) -> Node:
        given = step.given
        limits = given.limits(self._counts)
        return BudgetNode(
            self._node(place),
            open_share=partial(self._services.open_share, step.view.name, MappingProxyType(limits)),
            seconds=given.seconds("seconds") if "seconds" in given else inf,
            pulse=self._pulse,
        )

    def _scoped(self, step: Step, place: _Place) -> Node:
        if not step.keys:
            return PlainNode(self._node(place))
        scope = place.blackboard.scope(step.keys)
        return ScopeNode(self._node(self._place(scope)), scope=scope)

    def _condition(self, step: Step, place: _Place) -> Node:
        return ConditionNode(self._check(step, place))

    def _action(self, step: Step, place: _Place) -> Node:
        return ActionNode(_calling(step, place), self._tasks)

    def _llm_call(self, step: Step, place: _Place) -> Node:
        given = step.given
        prompt = filling(given.text("prompt") if "prompt" in given else "", place.blackboard)
        offers_tools = given.is_set("tools", default=True)
        call = self._services.llm_call
        return self._call(lambda: call(prompt=prompt(), offers_tools=offers_tools), step, place)

    def _tool_call(self, step: Step, place: _Place) -> Node:
        tool = step.given.text("tool")
        arguments = resolving(step.arguments, place.blackboard)
        call = self._services.tool_call
        return self._call(lambda: call(tool, arguments()), step, place)

    def _call(self, make: Callable[[], Work], step: Step, place: _Place) -> Node:
        output = step.given.text("output") if "output" in step.given else None
        return CallNode(make, self._tasks, blackboard=place.blackboard, output=output)

    def _check(self, step: Step, place: _Place) -> Check:
        if step.expression is not None:
            return partial(step.expression.holds, place.blackboard.peek)
        return _calling(step, place)

    _MAKERS: ClassVar[Mapping[str, Callable[[Any, Step, _Place], Node]]] = {
        **dict.fromkeys(_COMPOSITES, _composite),
        **dict.fromkeys(_ENDINGS, _ending),
        "parallel": _parallel,
        "retry": _retry,
        "repeat_until": _repeat_until,
        "for_each": _for_each,
        "timeout": _timeout,
        "cooldown": _cooldown,
        "guard": _guard,
        "budget": _budget,
        "subtree": _scoped,
        "subtree_ref": _scoped,
        "condition": _condition,
        "action": _action,
        "llm_call": _llm_call,
        "tool_call": _tool_call,
    }


def _calling(step: Step, place: _Place) -> Callable[[], object]:
    """A call of a leaf's function with its arguments, ready to be made."""
    assert step.leaf is not None, "it was looked up when the tree was planned"
    function, context = step.leaf.function, place.context
    if step.has_fixed_arguments:
        return partial(function, context, **step.arguments)
    resolve = resolving(step.arguments, place.blackboard)
    return lambda: function(context, **resolve())
