"""A tree that steers a run: ticked until it is through, woken by what happens, never past a limit (E11)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from endstop.errors import TreeError
from endstop.events.chunks import RunningPath
from endstop.events.steered import TreeChosen, TreeTraced
from endstop.kernel.budget import Budget
from endstop.loop.turns import Turns
from endstop.oracle.leaves import LEAVES
from endstop.oracle.prompting import PromptFiles
from endstop.oracle.services import OracleParts, OracleServices
from endstop.tree.engine import Tree
from endstop.tree.kinds import MOST_TIMES
from endstop.tree.leaves import Leaves
from endstop.tree.problems import refused
from endstop.tree.spec import TreeSpec, from_json, to_json
from endstop.tree.status import RunStatus
from endstop.tree.validate import problems_of

GRACE_S = 0.25
"""How long a tree may go on, to wind up, once the governor has said stop."""

MOST_IDLE_S = 300.0
"""How long a tree may wait for something that is neither the model nor a tool."""

_MOST_STEPS = 500
"""So many steps of a tree are kept per note."""

_MOST_ERRORS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSteering:
    """Steers runs by a tree. One value serves any number of runs."""

    tree: TreeSpec
    leaves: Leaves = LEAVES
    parts: OracleParts = field(default_factory=lambda: OracleParts(prompts=PromptFiles()))

    async def __call__(self, turns: Turns) -> None:
        """Take turns as the tree says, until it has come to its end."""
        services = OracleServices(turns, self.parts)
        tree = Tree(
            self._chosen(turns),
            leaves=self.leaves,
            services=services,
            counts=counts_of(turns.agent.config.budget),
            is_traced=True,
        )
        trace = _Trace(tree, turns)
        turns.watch(tree.wake)
        try:
            await self._ticked(tree, services, trace)
        finally:
            turns.watch(None)
            await tree.close()
            trace.write()

    async def _ticked(self, tree: Tree, services: OracleServices, trace: _Trace) -> None:
        turns = services.turns
        shown = _Shown(tree, turns) if turns.journal.hears_running else None
        out_at_s: float | None = None
        """When a tree that goes on in spite of the governor is ended."""
        has_waited = False
        while True:
            status = tree.tick()
            trace.look()
            if status is not RunStatus.RUNNING or (turns.is_to_leave and not turns.is_under_way):
                return
            if tree.is_awake and has_waited:
                has_waited = False  # others had their turn before this tick: they need none before the next
                continue
            if not turns.is_busy:
                await asyncio.sleep(0)  # so that what was begun just now takes its first step
            if shown is not None and not tree.is_awake:
                shown.look()
            if turns.is_busy:  # with a step that is bounded by itself
                trace.look()  # it may have ended the turn, as a sub-agent does
                await tree.wait()
                has_waited = True
                continue
            now_s = services.now_s
            if not services.must_stop:
                out_at_s = None
            elif out_at_s is None:
                out_at_s = now_s + GRACE_S
            elif now_s >= out_at_s:
                return
            if not tree.is_awake:
                await _woken(tree, turns, MOST_IDLE_S if out_at_s is None else out_at_s - now_s)
                has_waited = True

    def _chosen(self, turns: Turns) -> TreeSpec:
        """The tree of the run: the one it was started with, whatever has become of its file since (E5)."""
        for fact in turns.journal.recorder.facts:
            if isinstance(fact.payload, TreeChosen):
                chosen = from_json(fact.payload.spec)
                problems = problems_of(chosen, leaves=self.leaves)
                if problems:
                    raise refused(chosen.name, problems)
                return chosen
        tree = self.tree
        turns.journal.note(TreeChosen(tree=tree.name, hash=tree.hash, spec=to_json(tree)))
        return tree


async def _woken(tree: Tree, turns: Turns, most_s: float) -> None:
    """Wait until something happens, the run's time is up, or ``most_s`` have passed."""
    left_s = turns.journal.seconds_left(turns.scope, closing=True)
    if left_s is not None and 0 < left_s < most_s:
        await tree.wait(left_s)
    elif not await tree.wait(most_s) and most_s == MOST_IDLE_S:
        raise _waits_for_nothing(tree)


def _waits_for_nothing(tree: Tree) -> TreeError:
    return TreeError(
        f"Nothing happened in the tree for {MOST_IDLE_S:g} s: it waits in {tree.running_path}",
        to_do="Put a timeout around the action that does not end",
    )


def counts_of(budget: Budget) -> dict[str, int]:
    """The configured counts that a tree may name instead of a number."""
    return {
        "max_turns": budget.turns or MOST_TIMES,
        "max_tool_calls_per_turn": budget.tool_calls_per_turn or MOST_TIMES,
        "max_parallel_tools": budget.parallel_tools or MOST_TIMES,
    }


class _Trace:
    """Writes what the nodes of a tree do into the record, a note per turn."""

    def __init__(self, tree: Tree, turns: Turns) -> None:
        self._tree = tree
        self._turns = turns
        self._taken = turns.taken
        self._steps: list[str] = []
        self._dropped = 0
        self._errors: dict[str, str] = {}
        """What was told already, by the path of the node."""

    def look(self) -> None:
        """Write what has changed when a turn is over. Till then the tree itself keeps it, up to a bound."""
        if self._turns.taken > self._taken and not self._turns.is_under_way:
            self.write()
        elif self._tree.trace.untaken > _MOST_STEPS:
            self._take()

    def write(self) -> None:
        self._take()
        told = {path: error for path, error in self._tree.errors.items() if self._errors.get(path) != error}
        self._errors.update(told)
        if self._steps and self._turns.journal.is_open(self._turns.scope):
            self._turns.journal.note(
                TreeTraced(
                    scope=self._turns.scope,
                    turn=max(self._turns.taken - 1, 0),
                    steps=tuple(self._steps),
                    dropped=self._dropped,
                    errors=tuple(f"{path}: {error}" for path, error in told.items())[:_MOST_ERRORS],
                )
            )
        self._steps, self._dropped = [], 0
        self._taken = self._turns.taken
        self._tree.trace.forget()  # each note stands by itself

    def _take(self) -> None:
        steps = self._tree.trace.take_steps()
        room = _MOST_STEPS - len(self._steps)
        self._steps += steps[:room]
        self._dropped += max(len(steps) - room, 0)


class _Shown:
    """Shows to whoever watches live which nodes are running while the tree sleeps. Never on record."""

    def __init__(self, tree: Tree, turns: Turns) -> None:
        self._tree = tree
        self._turns = turns
        self._path: tuple[int, ...] = ()

    def look(self) -> None:
        """Show them, if they are others than last time."""
        running = self._tree.running_nodes
        path = tuple([view.index for view in running])
        if path != self._path:
            self._path = path
            names = tuple([view.name for view in running])
            self._turns.journal.show(RunningPath(scope=self._turns.scope, path=path, names=names))
