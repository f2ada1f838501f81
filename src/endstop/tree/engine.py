"""A tree that runs: ticked by whoever drives it, asleep until something happens (E1, E12).

    tree = Tree(spec, leaves=leaves, services=services, counts={"max_turns": 30})
    status = await tree.run()

A tick is synchronous, takes microseconds and never waits. What takes time goes on beside the tree, in tasks;
meanwhile ``wait`` sleeps, and the next tick looks at the guards again, which can halt what is under way. Who
wants a word between ticks does the same by hand:

    while (status := tree.tick()) is RunStatus.RUNNING:
        ...
        await tree.wait()

Nothing here enforces a limit of the run: that is done behind the services, whatever the tree does (E11).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from endstop.errors import RunStateError
from endstop.tree.blackboard import Blackboard
from endstop.tree.building import Builder
from endstop.tree.leaves import Leaves
from endstop.tree.node import RUNNING, Pulse
from endstop.tree.planning import plan_of
from endstop.tree.services import Alone, Services
from endstop.tree.spec import TreeSpec
from endstop.tree.status import RunStatus
from endstop.tree.tasks import Tasks
from endstop.tree.trace import NodeView, Trace


class Tree:
    """A behaviour tree of one run."""

    def __init__(
        self,
        spec: TreeSpec,
        *,
        leaves: Leaves,
        services: Services | None = None,
        counts: Mapping[str, int] | None = None,
        blackboard: Blackboard | None = None,
        is_traced: bool = False,
        is_timed: bool = False,
    ) -> None:
        """Without ``services`` a tree has a clock, and neither a model nor tools.

        ``counts`` gives the numbers that stand behind names such as ``"max_turns"``. ``is_timed``: the trace
        tells also how often each node was ticked, and how long that took.
        """
        services = Alone() if services is None else services
        self.spec = spec
        plan = plan_of(spec, leaves)
        self.blackboard = Blackboard(plan.keys) if blackboard is None else blackboard
        self.status: RunStatus | None = None
        """After the last tick; None before the first, and when it was halted."""
        self._pulse = Pulse(lambda: services.now_s)
        self._tasks = Tasks(self._pulse.wake)
        self.trace = Trace(is_timed=is_timed)
        """Empty unless the tree is traced."""
        builder = Builder(
            spec.name,
            plan,
            services=services,
            counts={} if counts is None else counts,
            pulse=self._pulse,
            tasks=self._tasks,
            trace=self.trace if is_traced else None,
        )
        self._root = builder.build(self.blackboard)
        self._tick_root = self._root.tick
        self.nodes: tuple[NodeView, ...] = plan.views
        """All nodes, each before those below it."""
        self._built = tuple([builder.nodes[index] for index in range(len(plan.views))])
        self._is_ticking = False

    @property
    def running_path(self) -> tuple[str, ...]:
        """The names of the running nodes, from the root to the leaf (or leaves, below a parallel)."""
        return tuple([view.name for view in self.running_nodes])

    @property
    def running_nodes(self) -> tuple[NodeView, ...]:
        """The running nodes, in that order."""
        return tuple([self.nodes[index] for index, node in enumerate(self._built) if node.is_running])

    @property
    def errors(self) -> Mapping[str, str]:
        """What went wrong last in each node where something did, by its path."""
        return {
            view.path: node.error
            for view, node in zip(self.nodes, self._built, strict=True)
            if node.error is not None
        }

    def tick(self) -> RunStatus:
        """Take the tree as far as it goes without waiting. After its end the next tick begins anew."""
        if self._is_ticking:
            raise _inside_a_tick("ticked")
        pulse = self._pulse
        pulse.is_awake = False
        pulse.due_s = inf
        self._is_ticking = True
        self.trace.begin_tick()
        try:
            status = self._tick_root()
        except BaseException:
            self._is_ticking = False
            self.halt()  # nothing may go on that nobody looks at any more
            raise
        self._is_ticking = False
        self.status = status
        return status

    @property
    def is_awake(self) -> bool:
        """Whether it should be ticked again right away."""
        return self._pulse.is_awake

    def wake(self) -> None:
        """Something has happened that the tree should look at."""
        self._pulse.wake()

    def halt(self) -> None:
        """Put an end to all that is under way. The next tick begins anew."""
        if self._is_ticking:
            raise _inside_a_tick("halted")
        self._root.halt()
        self.status = None

    async def wait(self, most_s: float = inf) -> bool:
        """Until the tree should be ticked again: something happened, something ended, or is due.

        False if there was nothing of that within ``most_s``.
        """
        return await self._pulse.wait(most_s)

    async def run(self) -> RunStatus:
        """Tick to the end. If this is cancelled, or a tick raises, all that is under way is ended, too."""
        try:
            while (status := self.tick()) is RUNNING:
                await self.wait()
        except BaseException:
            await self.close()
            raise
        return status

    async def close(self) -> int:
        """Halt, and see all that was begun to its end, in bounded time. Returns how much would not end."""
        self.halt()
        return await self._tasks.close()


def _inside_a_tick(done: str) -> RunStateError:
    return RunStateError(
        f"The tree cannot be {done} by one of its own leaves",
        to_do="Call wake() and return; it is ticked again",
    )
