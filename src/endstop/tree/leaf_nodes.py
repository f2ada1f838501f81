"""Nodes that do something: conditions, actions, turns of a model, calls of tools."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from inspect import isawaitable, iscoroutine
from typing import Any

from endstop.errors import InvalidValueError
from endstop.tree.blackboard import Blackboard
from endstop.tree.node import FAILURE, NOT_OURS, RUNNING, SUCCESS, Check, Node, truth
from endstop.tree.status import RunStatus
from endstop.tree.tasks import Tasks, Work


class ConditionNode(Node):
    """Succeeds if the condition holds. It never raises, and is never running."""

    __slots__ = ("_check",)

    def __init__(self, check: Check) -> None:
        super().__init__()
        self._check = check

    def tick(self) -> RunStatus:
        try:
            answer = self._check()
            if answer is True:
                return SUCCESS
            if answer is False:
                return FAILURE
            return SUCCESS if truth(answer) else FAILURE
        except NOT_OURS as error:
            return self.fail(error)

    def halt(self) -> None:
        """Nothing is ever under way in it."""


class BesideNode(Node):
    """A leaf whose work may go on beside the tree: in exactly one task while it runs, and none while not."""

    __slots__ = ("_task", "_tasks")

    def __init__(self, tasks: Tasks) -> None:
        super().__init__()
        self._tasks = tasks
        self._task: asyncio.Task[Any] | None = None

    def tick(self) -> RunStatus:
        task = self._task
        if task is not None and not task.done():
            return RUNNING
        try:
            if task is None:
                status = self._begin()
            else:
                self._task = None
                status = self._end(self._tasks.take(task))
        except NOT_OURS as error:
            status = self.fail(error)
        self.is_running = status is RUNNING
        return status

    def halt(self) -> None:
        if self._task is not None:
            self._tasks.give_up(self._task)
            self._task = None
        self.is_running = False

    @abstractmethod
    def _begin(self) -> RunStatus: ...

    @abstractmethod
    def _end(self, result: object) -> RunStatus:
        """What is made of what the task returned."""

    def _go_beside(self, begin: Callable[[], Work]) -> RunStatus:
        self._task = self._tasks.start(begin)
        return RUNNING


class ActionNode(BesideNode):
    """Calls a function. What it has to wait for is waited for beside the tree."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[], object], tasks: Tasks) -> None:
        super().__init__(tasks)
        self._call = call

    def _begin(self) -> RunStatus:
        answer = self._call()
        if answer is None or answer is True or answer is SUCCESS:
            return SUCCESS
        if answer is not False and isawaitable(answer):
            return self._await(answer)
        return _status_of(answer)

    def _end(self, result: object) -> RunStatus:
        return _status_of(result)

    def _await(self, answer: Awaitable[object]) -> RunStatus:
        work = answer if iscoroutine(answer) else _awaited(answer)
        try:
            return self._go_beside(lambda: work)
        except BaseException:
            work.close()  # it will never be awaited, and that is known
            raise


class CallNode(BesideNode):
    """Asks whoever runs the tree for something, and writes down the text that comes of it."""

    __slots__ = ("_blackboard", "_make", "_output")

    def __init__(
        self, make: Callable[[], Work], tasks: Tasks, *, blackboard: Blackboard, output: str | None
    ) -> None:
        super().__init__(tasks)
        self._make = make
        self._blackboard = blackboard
        self._output = output

    def _begin(self) -> RunStatus:
        return self._go_beside(self._make)

    def _end(self, result: object) -> RunStatus:
        if result is None:
            return FAILURE
        if self._output is not None:
            self._blackboard.set(self._output, result)
        return SUCCESS


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer


def _status_of(answer: object) -> RunStatus:
    """How an action went, by what it answered."""
    if answer is None or answer is True:
        return SUCCESS
    if answer is False:
        return FAILURE
    if isinstance(answer, RunStatus):
        return answer
    raise InvalidValueError("answer of an action", answer, allowed="a RunStatus, true, false, or nothing")
