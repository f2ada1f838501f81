"""Nodes that run one node again and again.

One round per tick: after each they report running and ask to be ticked again at once. So a tick stays short,
and whoever ticks the tree can look at its limits between any two rounds.
"""

from __future__ import annotations

from abc import abstractmethod

from endstop.errors import InvalidValueError
from endstop.tree.blackboard import Blackboard
from endstop.tree.decorators import OneBelow
from endstop.tree.node import FAILURE, RUNNING, SUCCESS, Check, Node, Pulse
from endstop.tree.spec import PlainValue
from endstop.tree.status import RunStatus


class LoopNode(OneBelow):
    """Counts rounds. What it means that one has ended, each kind of loop says itself."""

    __slots__ = ("_is_in_round", "_most", "_pulse", "_round")

    def __init__(self, child: Node, *, most: int, pulse: Pulse) -> None:
        super().__init__(child)
        self._most = most
        self._pulse = pulse
        self._round = 0
        self._is_in_round = False
        """A round was begun, and has not ended."""

    def tick(self) -> RunStatus:
        status = self._tick_child()
        self._is_in_round = status is RUNNING
        if status is not RUNNING:
            self._round += 1
            status = self._after(status)
            if status is not RUNNING:
                return self._ended(status)
            self._pulse.wake()
        self.is_running = True
        return RUNNING

    def halt(self) -> None:
        if self.is_running:
            self._child.halt()
            self._ended(FAILURE)

    @abstractmethod
    def _after(self, status: RunStatus) -> RunStatus:
        """How the loop stands after a round that ended like this; running for one more."""

    def _ended(self, status: RunStatus) -> RunStatus:
        self._round = 0
        self._is_in_round = False
        self.is_running = False
        return status


class RetryNode(LoopNode):
    """Again while its node fails."""

    __slots__ = ()

    def _after(self, status: RunStatus) -> RunStatus:
        return RUNNING if status is FAILURE and self._round < self._most else status


class RepeatUntilEndingNode(LoopNode):
    """Again until its node ends as asked for."""

    __slots__ = ("_until",)

    def __init__(self, child: Node, *, most: int, pulse: Pulse, until: RunStatus) -> None:
        super().__init__(child, most=most, pulse=pulse)
        self._until = until

    def _after(self, status: RunStatus) -> RunStatus:
        if status is self._until:
            return SUCCESS
        return RUNNING if self._round < self._most else FAILURE


class RepeatUntilHoldsNode(LoopNode):
    """Again until a condition holds, however its node ends."""

    __slots__ = ("_check",)

    def __init__(self, child: Node, *, most: int, pulse: Pulse, check: Check) -> None:
        super().__init__(child, most=most, pulse=pulse)
        self._check = check

    def _after(self, status: RunStatus) -> RunStatus:  # noqa: ARG002 - only the condition counts
        if self.holds(self._check):
            return SUCCESS
        return RUNNING if self._round < self._most else FAILURE


class ForEachNode(LoopNode):
    """Once for each item of the list as it was at first, until its node fails for one."""

    __slots__ = ("_blackboard", "_item_key", "_items", "_items_key")

    def __init__(
        self, child: Node, *, most: int, pulse: Pulse, blackboard: Blackboard, items: str, item: str
    ) -> None:
        super().__init__(child, most=most, pulse=pulse)
        self._blackboard = blackboard
        self._items_key = items
        self._item_key = item
        self._items: list[PlainValue] = []

    def tick(self) -> RunStatus:
        try:
            if not self.is_running:
                self._items = self._listed()
            if not self._items:
                return SUCCESS
            if not self._is_in_round:
                self._blackboard.set(self._item_key, self._items[self._round])
        except InvalidValueError as error:
            return self._ended(self.fail(error))
        return super().tick()

    def _listed(self) -> list[PlainValue]:
        items = self._blackboard.get(self._items_key)
        if not isinstance(items, list):
            raise InvalidValueError(
                f"blackboard key {self._items_key!r}", items, allowed="a list to go through"
            )
        return items[: self._most]

    def _after(self, status: RunStatus) -> RunStatus:
        return RUNNING if status is SUCCESS and self._round < len(self._items) else status

    def _ended(self, status: RunStatus) -> RunStatus:
        self._items = []
        return super()._ended(status)
