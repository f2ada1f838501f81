"""Loops that nobody wrote: what a reactive node would begin again at every tick, for ever.

A reactive node looks at its first nodes anew at each tick. A node among them that takes more than one tick
would be begun again as soon as it has ended, and the nodes behind it would be halted each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from endstop.tree.leaves import Leaf, LeafCost, Leaves
from endstop.tree.problems import Problem
from endstop.tree.references import folded
from endstop.tree.spec import NodeSpec, TreeSpec

LOOPS: Mapping[str, str] = MappingProxyType({"retry": "attempts", "repeat_until": "max", "for_each": "max"})
"""The parameter that bounds each loop. A loop does one round in a tick, and goes on at the next."""

_REACTIVE = frozenset({"reactive_sequence", "reactive_selector"})


def restart_problems(tree: TreeSpec, leaves: Leaves) -> Iterator[Problem]:
    """Nodes that take time where a reactive node would begin them anew at every tick."""
    slow: set[int] = set()

    def takes_time(node: NodeSpec, below_it: Sequence[bool]) -> bool:
        if not any(below_it) and not _goes_on(node, leaves):
            return False
        slow.add(id(node))
        return True

    folded(tree, takes_time, nothing=False)
    for one in (tree, *tree.subtrees):
        for node in _reactive_nodes(one.root):
            for child in node.children[:-1]:
                if id(child) in slow:
                    yield _problem(one.file, node, child)


def leaf_of(node: NodeSpec, leaves: Leaves) -> Leaf | None:
    """The registered function that a node names, if it does."""
    name = node.parameters.get("fn")
    return leaves.get(name) if isinstance(name, str) else None


def _goes_on(node: NodeSpec, leaves: Leaves) -> bool:
    """Whether a node can be running after a tick, as far as one can know before."""
    if node.kind != "action":
        return node.kind in LOOPS or node.kind in ("llm_call", "tool_call")
    leaf = leaf_of(node, leaves)
    return leaf is not None and (leaf.is_async or leaf.cost != LeafCost())


def _reactive_nodes(root: NodeSpec) -> Iterator[NodeSpec]:
    """Each once, even if it stands in several places."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.kind in _REACTIVE:
            yield node
        waiting.extend(reversed(node.children))


def _problem(file: str, node: NodeSpec, child: NodeSpec) -> Problem:
    return Problem(
        file=file,
        line=node.line if child.line is None else child.line,
        what=f"{child.name!r} takes time: the {node.kind} {node.name!r} would begin it anew at every tick,"
        " a loop without a bound",
        to_do=f"Put it last, or use a plain {node.kind.removeprefix('reactive_')}",
    )
