"""Nodes that let one node pass, turn its ending round, hold it to something, or give it keys of its own."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from endstop.tree.blackboard import Blackboard
from endstop.tree.node import FAILURE, NOT_OURS, RUNNING, SUCCESS, Check, Node, Pulse
from endstop.tree.services import Share
from endstop.tree.status import RunStatus


class OneBelow(Node):
    """A node with one node below."""

    __slots__ = ("_child", "_tick_child")

    def __init__(self, child: Node) -> None:
        super().__init__((child,))
        self._child = child
        self._tick_child = child.tick

    def halt(self) -> None:
        if self.is_running:
            self._child.halt()
            self.is_running = False


class EndingNode(OneBelow):
    """Ends otherwise than its node does: inverter, always_succeed, always_fail."""

    __slots__ = ("_on_failure", "_on_success")

    def __init__(self, child: Node, *, on_success: RunStatus, on_failure: RunStatus) -> None:
        super().__init__(child)
        self._on_success = on_success
        self._on_failure = on_failure

    def tick(self) -> RunStatus:
        status = self._tick_child()
        if status is RUNNING:
            self.is_running = True
            return RUNNING
        self.is_running = False
        return self._on_success if status is SUCCESS else self._on_failure


class GuardNode(OneBelow):
    """Its node while the condition holds."""

    __slots__ = ("_check",)

    def __init__(self, child: Node, *, check: Check) -> None:
        super().__init__(child)
        self._check = check

    def tick(self) -> RunStatus:
        if not self.holds(self._check):
            self.halt()
            return FAILURE
        status = self._tick_child()
        self.is_running = status is RUNNING
        return status


class TimeoutNode(OneBelow):
    """Its node for so long, from its first tick on. Nothing new is begun once the time is up."""

    __slots__ = ("_due_s", "_pulse", "_seconds")

    def __init__(self, child: Node, *, seconds: float, pulse: Pulse) -> None:
        super().__init__(child)
        self._seconds = seconds
        self._pulse = pulse
        self._due_s = inf

    def tick(self) -> RunStatus:
        now_s = self._pulse.now()
        if not self.is_running:
            self._due_s = now_s + self._seconds
        elif now_s >= self._due_s:
            self.halt()
            return FAILURE
        status = self._tick_child()
        self.is_running = status is RUNNING
        if self.is_running:
            self._pulse.wake_at(self._due_s)
        return status


class CooldownNode(OneBelow):
    """Its node, but not before it has rested. The rest outlasts the round: that is what it is for.

    A node that was halted has not ended, and need not rest.
    """

    __slots__ = ("_pulse", "_rested_s", "_seconds")

    def __init__(self, child: Node, *, seconds: float, pulse: Pulse) -> None:
        super().__init__(child)
        self._seconds = seconds
        self._pulse = pulse
        self._rested_s = -inf

    def tick(self) -> RunStatus:
        if self._pulse.now() < self._rested_s:
            self._pulse.wake_at(self._rested_s)
            return FAILURE
        status = self._tick_child()
        self.is_running = status is RUNNING
        if not self.is_running:
            self._rested_s = self._pulse.now() + self._seconds
            self._pulse.wake_at(self._rested_s)
        return status


class BudgetNode(OneBelow):
    """Its node on a share of what the run has left. The share is closed however this ends."""

    __slots__ = ("_due_s", "_open", "_pulse", "_seconds", "_share")

    def __init__(self, child: Node, *, open_share: Callable[[], Share], seconds: float, pulse: Pulse) -> None:
        super().__init__(child)
        self._open = open_share
        self._seconds = seconds
        self._pulse = pulse
        self._share: Share | None = None
        self._due_s = inf

    def tick(self) -> RunStatus:
        share = self._share
        if share is None:
            try:
                share = self._share = self._open()
            except NOT_OURS as error:
                return self.fail(error)
            self.is_running = True  # from here on it has something to close
            self._due_s = self._pulse.now() + self._seconds
        if share.is_used_up:
            self._child.halt()
            return self._closed(FAILURE)
        status = self._tick_child()
        if status is not RUNNING:
            return self._closed(status)
        if self._pulse.now() < self._due_s:  # after that, whoever keeps the share has the word
            self._pulse.wake_at(self._due_s)
        return RUNNING

    def halt(self) -> None:
        if self.is_running:
            self._child.halt()
            self._closed(FAILURE)

    def _closed(self, status: RunStatus) -> RunStatus:
        assert self._share is not None, "it was opened"
        share, self._share = self._share, None
        self.is_running = False
        share.close()
        return status


class ScopeNode(OneBelow):
    """Its node with keys of its own on the blackboard, which are gone when it has ended."""

    __slots__ = ("_scope",)

    def __init__(self, child: Node, *, scope: Blackboard) -> None:
        super().__init__(child)
        self._scope = scope

    def tick(self) -> RunStatus:
        if not self.is_running:
            self._scope.clear()  # also of what something halted may have written since
        status = self._tick_child()
        self.is_running = status is RUNNING
        if not self.is_running:
            self._scope.clear()
        return status

    def halt(self) -> None:
        if self.is_running:
            super().halt()
            self._scope.clear()


class PlainNode(OneBelow):
    """Stands where there is nothing to add: a subtree, or a reference to one, without keys of its own."""

    __slots__ = ()

    def tick(self) -> RunStatus:
        status = self._tick_child()
        self.is_running = status is RUNNING
        return status
