"""What can be known of a tree before it runs, worked out once for all its runs: a plan.

A tree should have been checked when it was loaded (``validate``). What could not run at all is refused here
all the same: a specification may also come from a record, or be made by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from endstop.errors import InvalidValueError
from endstop.tree.arguments import is_fixed
from endstop.tree.expression import Expression, parse
from endstop.tree.given import Given
from endstop.tree.keys import keys_of, subtree_keys
from endstop.tree.kinds import KINDS
from endstop.tree.leaves import Leaf, Leaves
from endstop.tree.problems import Problem, refused
from endstop.tree.references import size_problems
from endstop.tree.spec import KeySpec, NodeSpec, PlainValue, TreeSpec
from endstop.tree.trace import NodeView

_MANY = {0: "none", 1: "exactly one", None: "one or more"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One node: what it is, and what it was given, read as far as it can be without a run."""

    view: NodeView
    given: Given
    file: str
    """Where it was written, for what goes wrong in it later."""
    children: int
    keys: tuple[KeySpec, ...] = ()
    """Those of its own, for the nodes below it."""
    leaf: Leaf | None = None
    expression: Expression | None = None
    arguments: Mapping[str, PlainValue]
    has_fixed_arguments: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole tree, with every reference followed."""

    keys: tuple[KeySpec, ...]
    """Those of its blackboard."""
    steps: tuple[Step, ...]
    """All nodes, each before those below it."""
    views: tuple[NodeView, ...]
    leaves: int
    """How many leaves were registered then: if there are more by now, it may have to be made anew."""


def plan_of(tree: TreeSpec, leaves: Leaves) -> Plan:
    """The plan of a tree. ``TreeError`` if it can have none."""
    known = cast("Plan | None", tree.worked_out.get(leaves))
    if known is not None and known.leaves == len(leaves):
        return known
    too_large = size_problems(tree)
    if too_large:
        raise refused(tree.name, too_large)
    planner = _Planner(tree, leaves)
    planner.add(tree.root, (tree,), "", 0)
    plan = Plan(
        keys=keys_of(tree, leaves),
        steps=tuple(planner.steps),
        views=tuple(step.view for step in planner.steps),
        leaves=len(leaves),
    )
    tree.worked_out[leaves] = plan
    return plan


class _Planner:
    """One walk through a tree."""

    def __init__(self, tree: TreeSpec, leaves: Leaves) -> None:
        self.steps: list[Step] = []
        self._tree = tree
        self._leaves = leaves

    def add(self, node: NodeSpec, trees: tuple[TreeSpec, ...], path: str, depth: int) -> None:
        """``trees`` are those on the way here, each in the one before it."""
        path = f"{path}/{node.name}" if path else node.name
        view = NodeView(index=len(self.steps), kind=node.kind, name=node.name, path=path, depth=depth)
        try:
            step, below, trees = self._step(node, view, trees)
        except InvalidValueError as error:
            problem = Problem(file=trees[-1].file, line=node.line, what=str(error).rstrip("."))
            raise refused(self._tree.name, (problem,)) from None
        self.steps.append(step)
        for child in below:
            self.add(child, trees, path, depth + 1)

    def _step(
        self, node: NodeSpec, view: NodeView, trees: tuple[TreeSpec, ...]
    ) -> tuple[Step, tuple[NodeSpec, ...], tuple[TreeSpec, ...]]:
        """The step of a node, the nodes below it, and the trees on the way to those."""
        _require_kind(node)
        given, file, below, keys = Given(node), trees[-1].file, node.children, ()
        if node.kind == "subtree":
            keys = subtree_keys(node)
        elif node.kind == "subtree_ref":
            tree = self._referred(given, trees)
            below, keys, trees = (tree.root,), tree.keys, (*trees, tree)
        expression = leaf = None
        if node.kind == "action":
            leaf = self._leaf(given, is_action=True)
        elif node.kind in ("condition", "guard") or (node.kind == "repeat_until" and "ends_in" not in given):
            if "expression" in given:
                expression = parse(given.text("expression"))
            else:
                leaf = self._leaf(given, is_action=False)
        arguments = given.arguments() if leaf is not None or node.kind == "tool_call" else {}
        step = Step(
            view=view,
            given=given,
            file=file,
            children=len(below),
            keys=keys,
            leaf=leaf,
            expression=expression,
            arguments=arguments,
            has_fixed_arguments=all(is_fixed(value) for value in arguments.values()),
        )
        return step, below, trees

    def _referred(self, given: Given, trees: tuple[TreeSpec, ...]) -> TreeSpec:
        tree = self._tree.subtree(given.text("tree"))
        if tree is None:
            raise given.wrong("tree", "a tree that came with this one")
        if any(tree.name == one.name for one in trees):
            raise given.wrong("tree", "a tree that this place is not part of: no circles")
        return tree

    def _leaf(self, given: Given, *, is_action: bool) -> Leaf:
        leaf = self._leaves.get(given.text("fn"))
        if leaf is None or leaf.is_action is not is_action:
            sort = "action" if is_action else "condition"
            meant = self._leaves.closest(given.text("fn"), is_action=is_action)
            hint = f", such as {meant!r}" if meant else ""
            raise given.wrong("fn", f"the name of a registered {sort}{hint}")
        return leaf


def _require_kind(node: NodeSpec) -> None:
    kind, many = KINDS.get(node.kind), len(node.children)
    if kind is None:
        raise InvalidValueError("kind of node", node.kind, allowed=", ".join(KINDS))
    if many < kind.least_children or (kind.most_children is not None and many > kind.most_children):
        raise InvalidValueError(
            f"number of nodes below {node.kind} {node.name!r}", many, allowed=_MANY[kind.most_children]
        )
