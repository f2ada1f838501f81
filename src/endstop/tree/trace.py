"""What a tree has done, node by node, for those who want to see it (E6). Others pay nothing for it.

Nodes are ticked dozens of times in every turn of a model, so what is kept at each tick is next to nothing:
how the node stands, in a list, and, where that is otherwise than before, one whole number.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from endstop.tree.node import FAILURE, RUNNING, SUCCESS, Node
from endstop.tree.status import RunStatus

MOST_CHANGES = 10_000
"""About so many changes are kept until they are taken; then the oldest are left out."""

_STATUSES = (SUCCESS, FAILURE, RUNNING, None)
_WORDS = tuple("halted" if status is None else status.value for status in _STATUSES)
_WAYS = len(_STATUSES)
_FAILED, _RUNS, _HALTED = 1, 2, 3
"""A change is kept as ``index * _WAYS`` and the place of the status among these."""

_steps: list[str] = []
"""The words of every change that there can be, by its number: made once, used in all runs."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A node stands otherwise than before."""

    index: int
    status: RunStatus | None
    """None if it was halted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrace:
    """What one node has done so far."""

    view: NodeView
    status: RunStatus | None = None
    """After its last tick; None if it was never ticked, or was halted."""
    error: str | None = None
    """What went wrong in it last."""
    ticks: int | None = None
    """How often it was ticked; None where nobody counts."""
    spent_s: float | None = None
    """In its ticks, those of the nodes below included; None where nobody measures it."""


class Trace:
    """How the nodes stand, by their index, and what has changed."""

    def __init__(self, *, is_timed: bool = False) -> None:
        """``is_timed``: ticks are counted and timed, which costs more than all the rest."""
        self.lost_changes = 0
        """How many changes were left out because nobody took them."""
        self._is_timed = is_timed
        self._watched: list[tuple[Node, NodeView]] = []
        self._statuses: list[RunStatus | None] = []
        self._changes: list[int] = []

    @property
    def nodes(self) -> list[NodeTrace]:
        """The traces of all nodes."""
        return [
            NodeTrace(
                view=view,
                status=self._statuses[view.index],
                error=node.error,
                ticks=node.ticks if isinstance(node, _TimedNode) else None,
                spent_s=node.spent_s if isinstance(node, _TimedNode) else None,
            )
            for node, view in sorted(self._watched, key=lambda one: one[1].index)
        ]

    def watch(self, node: Node, view: NodeView) -> Node:
        """The node with a trace of its own. The nodes below it must have been watched before."""
        node = _TimedNode(node) if self._is_timed else node
        self._watched.append((node, view))
        while len(self._statuses) <= view.index:
            self._statuses.append(None)
        return _TracedNode(node, view.index, self._statuses, self._changes)

    @property
    def untaken(self) -> int:
        """How many changes wait to be taken."""
        return len(self._changes)

    def begin_tick(self) -> None:
        """Nobody may have taken what changed before: that must not grow for ever."""
        too_many = len(self._changes) - MOST_CHANGES
        if too_many > 0:
            self.lost_changes += too_many
            del self._changes[:too_many]

    def forget(self) -> None:
        """Take all nodes for new: whatever they do next is a change."""
        self._statuses[:] = [None] * len(self._statuses)

    def take_changes(self) -> tuple[Change, ...]:
        """What has changed since this was last asked, in order."""
        return tuple(
            Change(index=change // _WAYS, status=_STATUSES[change % _WAYS]) for change in self._taken()
        )

    def take_steps(self) -> list[str]:
        """The same in words, such as ``"12 success"``, as the record keeps it."""
        while len(_steps) < _WAYS * len(self._statuses):
            _steps.extend(f"{len(_steps) // _WAYS} {word}" for word in _WORDS)
        return [_steps[change] for change in self._taken()]

    def _taken(self) -> list[int]:
        self.begin_tick()
        taken = self._changes.copy()
        self._changes.clear()  # the same list for ever: every node has it
        return taken


class _TracedNode(Node):
    """Stands before a node, and keeps its trace."""

    __slots__ = ("_changes", "_first", "_index", "_node", "_statuses", "_tick_node")

    def __init__(self, node: Node, index: int, statuses: list[RunStatus | None], changes: list[int]) -> None:
        super().__init__(node.children)
        self._node = node
        self._tick_node = node.tick
        self._index = index
        self._first = index * _WAYS
        self._statuses = statuses
        self._changes = changes

    def tick(self) -> RunStatus:
        status = self._tick_node()
        if status is not self._statuses[self._index]:
            self._statuses[self._index] = status
            if status is SUCCESS:
                self._changes.append(self._first)
            else:
                self._changes.append(self._first + (_FAILED if status is FAILURE else _RUNS))
        return status

    def halt(self) -> None:
        was_running = self._node.is_running
        self._node.halt()
        if was_running:
            self._statuses[self._index] = None
            self._changes.append(self._first + _HALTED)


class _TimedNode(Node):
    """Stands before a node, and measures its ticks."""

    __slots__ = ("_node", "spent_s", "ticks")

    def __init__(self, node: Node) -> None:
        super().__init__(node.children)
        self._node = node
        self.ticks = 0
        self.spent_s = 0.0

    def tick(self) -> RunStatus:
        began_s = perf_counter()
        status = self._node.tick()
        self.spent_s += perf_counter() - began_s
        self.ticks += 1
        self.is_running, self.error = self._node.is_running, self._node.error
        return status

    def halt(self) -> None:
        self._node.halt()
        self.is_running = self._node.is_running
