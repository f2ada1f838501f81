"""From a specification to nodes that can be ticked, with every reference followed.

A tree should have been checked when it was loaded (``validate``). What could not run at all is refused here
all the same: a specification may also come from a record, or be made by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from types import MappingProxyType

from endstop.errors import InvalidValueError
from endstop.tree.arguments import calling, filling, resolving
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
from endstop.tree.expression import parse
from endstop.tree.given import Given
from endstop.tree.keys import subtree_keys
from endstop.tree.kinds import KINDS
from endstop.tree.leaf_nodes import ActionNode, CallNode, ConditionNode
from endstop.tree.leaves import Leaf, LeafContext, Leaves
from endstop.tree.loops import ForEachNode, RepeatUntilEndingNode, RepeatUntilHoldsNode, RetryNode
from endstop.tree.node import FAILURE, SUCCESS, Check, Node, Pulse
from endstop.tree.problems import Problem, refused
from endstop.tree.references import size_problems
from endstop.tree.services import Services
from endstop.tree.spec import KeySpec, NodeSpec, TreeSpec
from endstop.tree.status import RunStatus
from endstop.tree.tasks import Tasks, Work
from endstop.tree.trace import NodeTrace, NodeView, Trace

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

_MANY = {0: "none", 1: "exactly one", None: "one or more"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where in the whole tree a node stands."""

    blackboard: Blackboard
    context: LeafContext
    """The same for all leaves on one board: none is made while the tree runs."""
    trees: tuple[TreeSpec, ...]
    """The trees on the way here, each in the one before it."""
    path: str = ""
    depth: int = 0

    def on(self, blackboard: Blackboard) -> _Place:
        return replace(self, blackboard=blackboard, context=replace(self.context, blackboard=blackboard))


class Builder:
    """Builds the nodes of one tree."""

    def __init__(
        self,
        tree: TreeSpec,
        *,
        leaves: Leaves,
        services: Services,
        counts: Mapping[str, int],
        pulse: Pulse,
        tasks: Tasks,
        trace: Trace | None,
    ) -> None:
        self.views: list[NodeView] = []
        self.nodes: dict[int, Node] = {}
        """By index, without what a trace puts before them."""
        self._tree = tree
        self._leaves = leaves
        self._services = services
        self._counts = counts
        self._pulse = pulse
        self._tasks = tasks
        self._trace = trace
        self._makers: Mapping[str, Callable[[Given, _Place], Node]] = {
            **dict.fromkeys(_COMPOSITES, self._composite),
            **dict.fromkeys(_ENDINGS, self._ending),
            "parallel": self._parallel,
            "retry": self._retry,
            "repeat_until": self._repeat_until,
            "for_each": self._for_each,
            "timeout": self._timeout,
            "cooldown": self._cooldown,
            "guard": self._guard,
            "budget": self._budget,
            "subtree": self._subtree,
            "subtree_ref": self._subtree_ref,
            "condition": self._condition,
            "action": self._action,
            "llm_call": self._llm_call,
            "tool_call": self._tool_call,
        }

    def build(self, blackboard: Blackboard) -> Node:
        """The root, with all that is below it."""
        too_large = size_problems(self._tree)
        if too_large:
            raise refused(self._tree.name, too_large)
        context = LeafContext(blackboard=blackboard, services=self._services)
        return self._node(
            self._tree.root, _Place(blackboard=blackboard, context=context, trees=(self._tree,))
        )

    def _node(self, spec: NodeSpec, place: _Place) -> Node:
        path = f"{place.path}/{spec.name}" if place.path else spec.name
        view = NodeView(index=len(self.views), kind=spec.kind, name=spec.name, path=path, depth=place.depth)
        self.views.append(view)
        if self._trace is not None:
            self._trace.nodes.append(NodeTrace(view=view))
        try:
            node = self._made(spec, replace(place, path=path, depth=place.depth + 1))
        except InvalidValueError as error:
            problem = Problem(file=place.trees[-1].file, line=spec.line, what=str(error).rstrip("."))
            raise refused(self._tree.name, (problem,)) from None
        self.nodes[view.index] = node
        return node if self._trace is None else self._trace.watch(node, view)

    def _made(self, spec: NodeSpec, place: _Place) -> Node:
        kind, many = KINDS.get(spec.kind), len(spec.children)
        if kind is None:
            raise InvalidValueError("kind of node", spec.kind, allowed=", ".join(KINDS))
        if many < kind.least_children or (kind.most_children is not None and many > kind.most_children):
            raise InvalidValueError(
                f"number of nodes below {spec.kind} {spec.name!r}",
                many,
                allowed=_MANY[kind.most_children],
            )
        return self._makers[spec.kind](Given(spec, counts=self._counts), place)

    def _child(self, given: Given, place: _Place) -> Node:
        return self._node(given.node.children[0], place)

    def _composite(self, given: Given, place: _Place) -> Node:
        return _COMPOSITES[given.node.kind]([self._node(child, place) for child in given.node.children])

    def _ending(self, given: Given, place: _Place) -> Node:
        on_success, on_failure = _ENDINGS[given.node.kind]
        return EndingNode(self._child(given, place), on_success=on_success, on_failure=on_failure)

    def _parallel(self, given: Given, place: _Place) -> Node:
        branches = [place.blackboard.branch() for _ in given.node.children]
        children = [
            self._node(child, place.on(branch))
            for child, branch in zip(given.node.children, branches, strict=True)
        ]
        return ParallelNode(children, needed=given.quorum(), blackboard=place.blackboard, branches=branches)

    def _retry(self, given: Given, place: _Place) -> Node:
        return RetryNode(self._child(given, place), most=given.count("attempts"), pulse=self._pulse)

    def _repeat_until(self, given: Given, place: _Place) -> Node:
        most = given.count("max")
        child = self._child(given, place)
        if "ends_in" not in given:
            check = self._check(given, place)
            return RepeatUntilHoldsNode(child, most=most, pulse=self._pulse, check=check)
        until = {"success": SUCCESS, "failure": FAILURE}.get(given.text("ends_in"))
        if until is None:
            raise given.wrong("ends_in", '"success" or "failure"')
        return RepeatUntilEndingNode(child, most=most, pulse=self._pulse, until=until)

    def _for_each(self, given: Given, place: _Place) -> Node:
        return ForEachNode(
            self._child(given, place),
            most=given.count("max"),
            pulse=self._pulse,
            blackboard=place.blackboard,
            items=given.text("items"),
            item=given.text("item"),
        )

    def _timeout(self, given: Given, place: _Place) -> Node:
        return TimeoutNode(self._child(given, place), seconds=given.seconds("seconds"), pulse=self._pulse)

    def _cooldown(self, given: Given, place: _Place) -> Node:
        return CooldownNode(self._child(given, place), seconds=given.seconds("seconds"), pulse=self._pulse)

    def _guard(self, given: Given, place: _Place) -> Node:
        check = self._check(given, place)
        return GuardNode(self._child(given, place), check=check)

    def _budget(self, given: Given, place: _Place) -> Node:
        limits = given.limits()
        return BudgetNode(
            self._child(given, place),
            open_share=partial(self._services.open_share, given.node.name, MappingProxyType(limits)),
            seconds=given.seconds("seconds") if "seconds" in given else inf,
            pulse=self._pulse,
        )

    def _subtree(self, given: Given, place: _Place) -> Node:
        return self._scoped(given.node.children[0], subtree_keys(given.node), place)

    def _subtree_ref(self, given: Given, place: _Place) -> Node:
        name = given.text("tree")
        tree = self._tree.subtree(name)
        if tree is None:
            raise given.wrong("tree", "a tree that came with this one")
        if any(tree.name == one.name for one in place.trees):
            raise given.wrong("tree", "a tree that this place is not part of: no circles")
        return self._scoped(tree.root, tree.keys, replace(place, trees=(*place.trees, tree)))

    def _scoped(self, root: NodeSpec, keys: tuple[KeySpec, ...], place: _Place) -> Node:
        if not keys:
            return PlainNode(self._node(root, place))
        scope = place.blackboard.scope(keys)
        return ScopeNode(self._node(root, place.on(scope)), scope=scope)

    def _condition(self, given: Given, place: _Place) -> Node:
        return ConditionNode(self._check(given, place))

    def _action(self, given: Given, place: _Place) -> Node:
        leaf = self._leaf(given, is_action=True)
        return ActionNode(calling(leaf.function, place.context, given.arguments()), self._tasks)

    def _llm_call(self, given: Given, place: _Place) -> Node:
        prompt = filling(given.text("prompt") if "prompt" in given else "", place.blackboard)
        offers_tools = given.is_set("tools", default=True)
        call = self._services.llm_call
        return self._call(lambda: call(prompt=prompt(), offers_tools=offers_tools), given, place)

    def _tool_call(self, given: Given, place: _Place) -> Node:
        tool = given.text("tool")
        arguments = resolving(given.arguments(), place.blackboard)
        call = self._services.tool_call
        return self._call(lambda: call(tool, arguments()), given, place)

    def _call(self, make: Callable[[], Work], given: Given, place: _Place) -> Node:
        output = given.text("output") if "output" in given else None
        return CallNode(make, self._tasks, blackboard=place.blackboard, output=output)

    def _check(self, given: Given, place: _Place) -> Check:
        if "expression" in given:
            return partial(parse(given.text("expression")).holds, place.blackboard.peek)
        leaf = self._leaf(given, is_action=False)
        return calling(leaf.function, place.context, given.arguments())

    def _leaf(self, given: Given, *, is_action: bool) -> Leaf:
        leaf = self._leaves.get(given.text("fn"))
        if leaf is None or leaf.is_action is not is_action:
            sort = "action" if is_action else "condition"
            meant = self._leaves.closest(given.text("fn"), is_action=is_action)
            hint = f", such as {meant!r}" if meant else ""
            raise given.wrong("fn", f"the name of a registered {sort}{hint}")
        return leaf
