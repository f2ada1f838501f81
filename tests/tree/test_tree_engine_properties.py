"""Random trees: they do what a simple interpreter says, and a halt leaves nothing behind (E1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_stage import ANSWERS, LETTERS, Stage, condition, node, other_tasks, plays, settle, waits

from endstop.tree.spec import NodeSpec
from endstop.tree.status import RunStatus

SUCCESS, FAILURE, RUNNING = RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.RUNNING

Course: TypeAlias = Generator[None, None, RunStatus]
"""A node on its way to its end: it stops once for each tick after which it is running."""


class Interpreter:
    """Says what a tree has to do, node by node, as a course of generators. It has nothing but its log."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._played: dict[str, int] = {}
        self._course: Course | None = None

    def tick(self, root: NodeSpec) -> RunStatus:
        self._course = self._course or self.course(root)
        status = advanced(self._course)
        if status is not RUNNING:
            self._course = None
        return status

    def halt(self) -> None:
        self._course = None

    def course(self, spec: NodeSpec) -> Course:
        below, given = spec.children, spec.parameters
        match spec.kind:
            case "action" | "condition":
                return self._leaf(spec)
            case "sequence" | "selector":
                return self._in_order(below, SUCCESS if spec.kind == "sequence" else FAILURE)
            case "reactive_sequence" | "reactive_selector":
                return self._reactive(below, SUCCESS if spec.kind == "reactive_sequence" else FAILURE)
            case "parallel":
                return self._parallel(below, given["succeed_when"])
            case "retry":
                return self._rounds(below[0], given["attempts"], lambda status: status is SUCCESS)
            case "repeat_until":
                wanted = SUCCESS if given["ends_in"] == "success" else FAILURE
                return self._rounds(below[0], given["max"], lambda status: status is wanted)
            case "inverter":
                return self._ending(below[0], {SUCCESS: FAILURE, FAILURE: SUCCESS})
            case _:
                ending = {"always_succeed": SUCCESS, "always_fail": FAILURE}[spec.kind]
                return self._ending(below[0], {SUCCESS: ending, FAILURE: ending})

    def _leaf(self, spec: NodeSpec) -> Course:
        answers = spec.parameters["args"]
        assert isinstance(answers, dict)
        script = str(answers["answers"])
        while True:
            self.log.append(spec.name)
            at = self._played[spec.name] = self._played.get(spec.name, -1) + 1
            status = ANSWERS[script[at % len(script)]]
            if status is not RUNNING:
                return status
            yield

    def _in_order(self, below: Sequence[NodeSpec], goes_on: RunStatus) -> Course:
        for child in below:
            status = yield from self.course(child)
            if status is not goes_on:
                return status
        return goes_on

    def _reactive(self, below: Sequence[NodeSpec], goes_on: RunStatus) -> Course:
        under_way: tuple[int, Course] | None = None
        while True:
            status, before, under_way = goes_on, under_way, None
            for at, child in enumerate(below):
                course = before[1] if before is not None and before[0] == at else self.course(child)
                status = advanced(course)
                if status is RUNNING:
                    under_way = at, course
                if status is not goes_on:
                    break
            if status is not RUNNING:
                return status
            yield

    def _parallel(self, below: Sequence[NodeSpec], succeed_when: object) -> Course:
        needed = {"all": len(below), "one": 1}.get(str(succeed_when)) or int(str(succeed_when))
        courses: dict[int, Course] = {at: self.course(child) for at, child in enumerate(below)}
        ended = {SUCCESS: 0, FAILURE: 0}
        if needed > len(below):
            return FAILURE
        while True:
            for at in sorted(courses):
                status = advanced(courses[at])
                if status is RUNNING:
                    continue
                del courses[at]
                ended[status] += 1
                if ended[SUCCESS] == needed:
                    return SUCCESS
                if len(below) - ended[FAILURE] < needed:
                    return FAILURE
            yield

    def _rounds(self, child: NodeSpec, most: object, is_over: Callable[[RunStatus], bool]) -> Course:
        for left in range(int(str(most)) - 1, -1, -1):
            status = yield from self.course(child)
            if is_over(status):
                return SUCCESS
            if left:
                yield
        return FAILURE

    def _ending(self, child: NodeSpec, endings: dict[RunStatus, RunStatus]) -> Course:
        return endings[(yield from self.course(child))]


def advanced(course: Course) -> RunStatus:
    try:
        next(course)
    except StopIteration as stop:
        return stop.value
    return RUNNING


NAMES = st.sampled_from("abcdefgh")
COUNTS = st.integers(1, 3)


def over(kind: str, below: Sequence[NodeSpec], **parameters: Any) -> NodeSpec:
    return node(kind, *below, **parameters)


def composites(inner: st.SearchStrategy[NodeSpec]) -> st.SearchStrategy[NodeSpec]:
    below, one = st.lists(inner, min_size=1, max_size=4), st.lists(inner, min_size=1, max_size=1)
    kinds = st.sampled_from(["sequence", "selector", "reactive_sequence", "reactive_selector"])
    endings = st.sampled_from(["inverter", "always_succeed", "always_fail"])
    until = st.sampled_from(["success", "failure"])
    quorum = st.sampled_from(["all", "one"]) | st.integers(1, 4)
    return st.one_of(
        st.builds(over, kinds, below),
        st.builds(over, st.just("parallel"), below, succeed_when=quorum),
        st.builds(over, endings, one),
        st.builds(over, st.just("retry"), one, attempts=COUNTS),
        st.builds(over, st.just("repeat_until"), one, max=COUNTS, ends_in=until),
    )


SCRIPTED = st.builds(plays, NAMES, st.text("srf", min_size=1, max_size=5)) | st.builds(
    condition, NAMES.map(str.upper), st.text("sf", min_size=1, max_size=4)
)
SCRIPTED_TREES = st.recursive(SCRIPTED, composites, max_leaves=12)
TREES = st.recursive(SCRIPTED | st.builds(waits, NAMES), composites, max_leaves=12)
HALTS = st.sets(st.integers(0, 30))


@pytest.mark.guarantee("E1")
@given(SCRIPTED_TREES, HALTS, st.booleans())
def test_a_random_tree_does_what_the_interpreter_says_also_when_it_is_halted(
    root: NodeSpec, halts: set[int], is_traced: bool
) -> None:
    stage, interpreter = Stage(), Interpreter()
    tree = stage.tree(root, is_traced=is_traced)
    for number in range(30):
        interpreter.log.clear()
        status = interpreter.tick(root)
        expected = f"{''.join(interpreter.log)} {LETTERS[status]}".strip()
        assert stage.ticked(tree, 1) == [expected], f"at tick {number}"
        assert bool(tree.running_path) is (status is RUNNING)
        if number in halts:
            tree.halt()
            interpreter.halt()
            assert tree.running_path == ()


@pytest.mark.guarantee("E1")
@given(TREES, st.integers(1, 8), st.lists(st.booleans(), min_size=8, max_size=8))
def test_halting_a_random_tree_at_a_random_tick_leaves_no_running_node_and_no_task(
    root: NodeSpec, ticks: int, answers: list[bool]
) -> None:
    async def play() -> None:
        stage = Stage()
        tree = stage.tree(root)
        for number in range(ticks):
            if tree.tick() is RUNNING:
                assert tree.running_path
            await settle()
            running = [name for name in tree.running_path if stage.beside.get(name)]
            assert len(other_tasks()) <= len(tree.running_path)
            if running and answers[number] and not stage.beside[running[0]][-1].done():
                stage.finish(running[0], answer=answers[-1 - number])
                await settle()
        tree.halt()
        assert tree.running_path == ()
        await settle()
        assert other_tasks() == set()
        assert await tree.close() == 0

    asyncio.run(play())
