"""What a tree has done, node by node, for those who want to see it (E6). Others pay nothing for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from endstop.tree.node import RUNNING, Node
from endstop.tree.status import RunStatus

MOST_CHANGES = 10_000
"""So many changes are kept until they are taken; then the oldest are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """One node of a tree that is ready to run, with every reference followed.

    ``index`` counts each node before those below it. A reference is a node, and the root of the tree that it
    refers to is the one node below it.
    """

    index: int
    kind: str
    name: str
    path: str
    """The names from the root to this node, with a slash between them."""
    depth: int


@dataclass(slots=True)  # not frozen: dozens are made in every turn of a traced tree
class Change:
    """A node stands otherwise than before."""

    index: int
    status: RunStatus | None
    """None if it was halted."""
    at_s: float


@dataclass(slots=True, kw_only=True)
class NodeTrace:
    """What one node has done so far."""

    view: NodeView
    ticks: int = 0
    status: RunStatus | None = None
    """After its last tick; None if it was never ticked, or was halted."""
    spent_s: float = 0.0
    """In its ticks, those of the nodes below included."""
    error: str | None = None
    """What went wrong in it last."""


class Trace:
    """The traces of all nodes, by their index, and what has changed."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.nodes: list[NodeTrace] = []
        self.lost_changes = 0
        """How many changes were left out because nobody took them."""
        self._now = now
        self._at_s: float | None = None
        """When the tick under way began; None before anybody has asked in it."""
        self._changes: deque[Change] = deque(maxlen=MOST_CHANGES)

    def watch(self, node: Node, view: NodeView) -> Node:
        """The node with a trace of its own. The nodes below it must have been watched before."""
        return _TracedNode(node, self, self.nodes[view.index])

    def changed(self, traced: NodeTrace, status: RunStatus | None) -> None:
        traced.status = status
        changes = self._changes
        if len(changes) == MOST_CHANGES:
            self.lost_changes += 1
        if self._at_s is None:
            self._at_s = self._now()
        changes.append(Change(traced.view.index, status, self._at_s))

    def begin_tick(self) -> None:
        """All changes of one tick have the same time."""
        self._at_s = None

    def forget(self) -> None:
        """Take all nodes for new: whatever they do next is a change."""
        for traced in self.nodes:
            traced.status = None

    def take_changes(self) -> tuple[Change, ...]:
        """What has changed since this was last asked, in order."""
        taken = tuple(self._changes)
        self._changes.clear()
        return taken


class _TracedNode(Node):
    """Stands before a node, and keeps its trace."""

    __slots__ = ("_node", "_trace", "_traced")

    def __init__(self, node: Node, trace: Trace, traced: NodeTrace) -> None:
        super().__init__(node.children)
        self._node = node
        self._trace = trace
        self._traced = traced

    def tick(self) -> RunStatus:
        traced = self._traced
        began_s = perf_counter()
        status = self._node.tick()
        traced.spent_s += perf_counter() - began_s
        traced.ticks += 1
        traced.error = self._node.error
        self.is_running = status is RUNNING
        if status is not traced.status:
            self._trace.changed(traced, status)
        return status

    def halt(self) -> None:
        was_running = self.is_running
        self._node.halt()
        self.is_running = False
        if was_running:
            self._trace.changed(self._traced, None)
