"""Nodes with many nodes below them: sequences, selectors, and nodes beside each other.

The tick methods of the nodes below are looked up once: a tree is ticked far more often than it is built.
"""

from __future__ import annotations

from collections.abc import Sequence

from endstop.tree.blackboard import Blackboard
from endstop.tree.node import FAILURE, RUNNING, SUCCESS, Node
from endstop.tree.status import RunStatus


class _InOrder(Node):
    """One node after the other, while they end as ``_goes_on`` says. Goes on where it stood."""

    __slots__ = ("_at", "_count", "_goes_on", "_ticks")

    def __init__(self, children: Sequence[Node], *, goes_on: RunStatus) -> None:
        super().__init__(children)
        self._ticks = tuple([child.tick for child in children])
        self._count = len(self._ticks)
        self._goes_on = goes_on
        self._at = 0

    def tick(self) -> RunStatus:
        goes_on = self._goes_on
        ticks = self._ticks
        for at in range(self._at, self._count):
            status = ticks[at]()
            if status is goes_on:
                continue
            if status is RUNNING:
                self._at = at
                self.is_running = True
                return RUNNING
            self._at = 0
            self.is_running = False
            return status
        self._at = 0
        self.is_running = False
        return goes_on

    def halt(self) -> None:
        if self.is_running:
            self.children[self._at].halt()
            self._at = 0
            self.is_running = False


class SequenceNode(_InOrder):
    """Until one fails."""

    __slots__ = ()

    def __init__(self, children: Sequence[Node]) -> None:
        super().__init__(children, goes_on=SUCCESS)


class SelectorNode(_InOrder):
    """Until one succeeds."""

    __slots__ = ()

    def __init__(self, children: Sequence[Node]) -> None:
        super().__init__(children, goes_on=FAILURE)


class _Reactive(Node):
    """The same from the first node on at every tick. A running node is halted when one before it decides."""

    __slots__ = ("_goes_on", "_running_at", "_ticks")

    def __init__(self, children: Sequence[Node], *, goes_on: RunStatus) -> None:
        super().__init__(children)
        self._ticks = tuple([child.tick for child in children])
        self._goes_on = goes_on
        self._running_at = -1

    def tick(self) -> RunStatus:
        goes_on = self._goes_on
        for at, tick in enumerate(self._ticks):
            status = tick()
            if status is not goes_on:
                if self._running_at > at:
                    self.children[self._running_at].halt()
                if status is RUNNING:
                    self._running_at = at
                    self.is_running = True
                else:
                    self._running_at = -1
                    self.is_running = False
                return status
        self._running_at = -1
        self.is_running = False
        return goes_on

    def halt(self) -> None:
        if self.is_running:
            self.children[self._running_at].halt()
            self._running_at = -1
            self.is_running = False


class ReactiveSequenceNode(_Reactive):
    """Until one fails."""

    __slots__ = ()

    def __init__(self, children: Sequence[Node]) -> None:
        super().__init__(children, goes_on=SUCCESS)


class ReactiveSelectorNode(_Reactive):
    """Until one succeeds."""

    __slots__ = ()

    def __init__(self, children: Sequence[Node]) -> None:
        super().__init__(children, goes_on=FAILURE)


class ParallelNode(Node):
    """All nodes beside each other, each on a branch of the blackboard, until enough have succeeded or failed.

    It is decided as soon as it can be: the nodes that are then still running are halted, and what they wrote
    is gone. What the others wrote is merged in the order of the nodes, not of their ending.
    """

    __slots__ = ("_blackboard", "_branches", "_ended", "_most_failures", "_needed", "_ticks")

    def __init__(
        self,
        children: Sequence[Node],
        *,
        needed: int,
        blackboard: Blackboard,
        branches: Sequence[Blackboard],
    ) -> None:
        super().__init__(children)
        self._ticks = tuple([child.tick for child in children])
        self._needed = needed
        self._most_failures = len(self.children) - needed
        self._blackboard = blackboard
        self._branches = tuple(branches)
        self._ended: list[RunStatus | None] = [None] * len(self.children)

    def tick(self) -> RunStatus:
        if not self.is_running:
            self._begin()
        status = self._tick_children()
        if status is not RUNNING:
            self._end()
        return status

    def halt(self) -> None:
        if self.is_running:
            self._halt_children()
            self._clear()

    def _begin(self) -> None:
        self._clear()
        self.is_running = True

    def _tick_children(self) -> RunStatus:
        if self._most_failures < 0:
            return FAILURE  # more are needed than there are
        ended = self._ended
        successes, failures = ended.count(SUCCESS), ended.count(FAILURE)
        for at, tick in enumerate(self._ticks):
            if ended[at] is not None:
                continue
            status = tick()
            if status is RUNNING:
                continue
            ended[at] = status
            if status is SUCCESS:
                successes += 1
            else:
                failures += 1
            if successes >= self._needed:
                return SUCCESS
            if failures > self._most_failures:
                return FAILURE
        return RUNNING

    def _end(self) -> None:
        self._halt_children()
        self._blackboard.merge(
            branch for branch, ended in zip(self._branches, self._ended, strict=True) if ended is not None
        )
        self._clear()

    def _halt_children(self) -> None:
        for child in self.children:
            child.halt()

    def _clear(self) -> None:
        for branch in self._branches:
            branch.clear()
        self._ended = [None] * len(self.children)
        self.is_running = False
