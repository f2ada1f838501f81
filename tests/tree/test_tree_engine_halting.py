"""Halting reaches everything that is under way, and nothing is left behind (E1)."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import Any

import pytest
from tree_stage import Stage, condition, key, looks, node, other_tasks, plays, settle, waits

from endstop.errors import RunStateError
from endstop.tree import tasks
from endstop.tree.leaves import LeafContext
from endstop.tree.spec import NodeSpec
from endstop.tree.status import RunStatus

SUCCESS, FAILURE, RUNNING = RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.RUNNING


def stubborn(times: int) -> NodeSpec:
    return node("action", name="stubborn", fn="stubborn", args={"name": "stubborn", "times": times})


@pytest.mark.guarantee("E1")
async def test_a_reactive_guard_halts_an_action_that_is_under_way() -> None:
    stage = Stage()
    tree = stage.tree(node("reactive_sequence", condition("?", "ssf"), waits("a")))
    assert tree.tick() is RUNNING
    await settle()
    assert tree.tick() is RUNNING
    assert len(other_tasks()) == 1, "exactly one task per running action"
    assert tree.tick() is FAILURE
    await settle()
    assert stage.log == ["?", "a began", "?", "?", "a cancelled"]
    assert other_tasks() == set()


@pytest.mark.guarantee("E1")
async def test_an_action_that_was_halted_and_is_ticked_again_begins_anew() -> None:
    stage = Stage()
    tree = stage.tree(node("guard", waits("a"), fn="is", args={"name": "?", "answers": "sfsss"}))
    for expected in (RUNNING, FAILURE, RUNNING):
        assert tree.tick() is expected
        await settle()
    assert stage.log == ["?", "a began", "?", "a cancelled", "?", "a began"]
    stage.finish("a", answer=True)
    await settle()
    assert tree.tick() is SUCCESS


async def test_an_action_halted_before_its_task_began_never_begins() -> None:
    stage = Stage()
    tree = stage.tree(waits("a"))
    tree.tick()
    tree.halt()
    await settle()
    assert stage.log == []
    assert other_tasks() == set()


async def test_what_a_task_that_was_halted_answers_in_the_end_counts_for_nothing() -> None:
    stage = Stage()
    tree = stage.tree(waits("a"))
    tree.tick()
    await settle()
    stage.finish("a", answer=False)
    tree.halt()
    await settle()
    assert tree.tick() is RUNNING
    await settle()
    stage.finish("a", answer=True)
    await settle()
    assert tree.tick() is SUCCESS


@pytest.mark.parametrize("kind", ["subtree", "parallel"])
async def test_what_a_halted_action_still_writes_is_not_there_when_its_part_of_the_tree_begins_anew(
    kind: str,
) -> None:
    stage = Stage()

    @stage.leaves.action("late")
    async def late(leaf: LeafContext) -> None:  # pyright: ignore[reportUnusedFunction]
        assert leaf.blackboard is not None
        try:
            await asyncio.sleep(9)
        finally:
            leaf.blackboard.set("x", "late")

    body = node("sequence", looks("$x"), node("action", fn="late"))
    given: dict[str, Any] = {"blackboard": {"x": "any"}} if kind == "subtree" else {}
    tree = stage.tree(node(kind, body, **given), keys=[key("x")])
    for _ in range(2):
        assert tree.tick() is RUNNING
        await settle()
        tree.halt()
        await settle()
    assert stage.seen == [None, None]
    assert tree.blackboard.get("x") is None


NESTS = {
    "sequence": node("sequence", plays("b", "s"), waits("a")),
    "selector": node("selector", plays("b", "f"), waits("a")),
    "reactive_sequence": node("reactive_sequence", plays("b", "s"), waits("a")),
    "reactive_selector": node("reactive_selector", plays("b", "f"), waits("a")),
    "parallel": node("parallel", waits("a"), waits("b")),
    "retry": node("retry", waits("a"), attempts=2),
    "repeat_until": node("repeat_until", waits("a"), max=2, ends_in="success"),
    "timeout": node("timeout", waits("a"), seconds=9),
    "guard": node("guard", waits("a"), fn="is", args={"name": "b", "answers": "s"}),
    "inverter": node("inverter", waits("a")),
    "always_succeed": node("always_succeed", waits("a")),
    "always_fail": node("always_fail", waits("a")),
    "cooldown": node("cooldown", waits("a"), seconds=9),
    "budget": node("budget", waits("a"), turns=9),
    "subtree": node("subtree", waits("a")),
    "subtree that has ended": node(
        "parallel", node("subtree", plays("b", "s"), blackboard={"x": "any"}), waits("a")
    ),
    "subtree with keys": node("subtree", waits("a"), blackboard={"x": "any"}),
}


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize("is_traced", [False, True], ids=["plain", "traced"])
@pytest.mark.parametrize("nest", NESTS)
async def test_a_halt_goes_through_every_kind_of_node_and_can_be_repeated(nest: str, is_traced: bool) -> None:
    stage = Stage()
    tree = stage.tree(node("sequence", plays("first", "s"), NESTS[nest]), is_traced=is_traced)
    tree.halt()
    assert tree.tick() is RUNNING
    await settle()
    tree.halt()
    tree.halt()
    assert tree.running_path == ()
    await settle()
    assert other_tasks() == set()
    assert "a cancelled" in stage.log
    assert stage.ticked(tree, 1)[0].startswith("first"), "it begins anew"
    await tree.close()


@pytest.mark.guarantee("E1")
async def test_a_halt_reaches_all_that_run_beside_each_other_far_below() -> None:
    stage = Stage()
    inner = node("parallel", waits("b"), node("retry", node("sequence", waits("c")), attempts=3))
    tree = stage.tree(node("parallel", waits("a"), node("timeout", inner, seconds=9)))
    tree.tick()
    await settle()
    assert len(other_tasks()) == 3
    tree.halt()
    await settle()
    assert other_tasks() == set()
    assert sorted(entry for entry in stage.log if "cancelled" in entry) == [
        "a cancelled",
        "b cancelled",
        "c cancelled",
    ]


@pytest.mark.guarantee("E1")
async def test_a_run_that_is_cancelled_halts_and_leaves_nothing_behind() -> None:
    stage = Stage()
    tree = stage.tree(node("parallel", waits("a"), stubborn(2)))
    running = asyncio.create_task(tree.run())
    await settle()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert tree.running_path == ()
    assert other_tasks() == set()


async def test_a_tick_that_raises_ends_all_that_is_under_way() -> None:
    stage = Stage()

    @stage.leaves.action("interrupt")
    def interrupt(leaf: object) -> None:  # pyright: ignore[reportUnusedFunction]
        if stage.played.get("once") is None:
            stage.played["once"] = 1
            raise KeyboardInterrupt

    tree = stage.tree(node("parallel", waits("a"), node("sequence", node("action", fn="interrupt"))))
    with pytest.raises(KeyboardInterrupt):
        await tree.run()
    assert tree.running_path == ()
    assert other_tasks() == set()
    assert tree.tick() is RUNNING
    await tree.close()


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize("times", [0, 1, 2, 10**9])
async def test_closing_ends_in_bounded_time_whatever_a_leaf_does(times: int) -> None:
    stage = Stage()
    tree = stage.tree(stubborn(times))
    tree.tick()
    await settle()
    began_s = time.monotonic()
    assert await tree.close() == 0
    assert time.monotonic() - began_s < 1
    assert other_tasks() == set()
    assert ("stubborn let go" in stage.log) is (times < 3), "force is for those that take no notice at all"


async def test_closing_tells_how_much_would_not_end_at_all() -> None:
    stage = Stage()
    let_go = asyncio.Event()

    @stage.leaves.action("worse")
    async def worse(leaf: object) -> None:  # pyright: ignore[reportUnusedFunction]
        while not let_go.is_set():
            try:
                await asyncio.sleep(0.01)
            except BaseException:  # noqa: BLE001 - that is how bad it is
                continue

    tree = stage.tree(node("action", fn="worse"))
    tree.tick()
    await settle()
    assert await tree.close() == 1
    let_go.set()
    await asyncio.sleep(0.03)
    assert await tree.close() == 0
    assert other_tasks() == set()


async def test_closing_a_tree_with_nothing_under_way_does_nothing() -> None:
    tree = Stage().tree(plays("a", "s"))
    assert await tree.close() == 0
    tree.tick()
    assert await tree.close() == 0


async def test_so_many_actions_that_do_not_end_and_nothing_new_is_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "MOST_LEFT", 3)
    stage = Stage()
    tree = stage.tree(stubborn(10**9))
    for _ in range(3):
        assert tree.tick() is RUNNING
        await settle()
        tree.halt()
    assert tree.tick() is FAILURE
    assert "3 actions were halted and have not ended" in tree.errors["stubborn"]
    assert len(other_tasks()) == 3
    assert await tree.close() == 0


async def test_what_halted_tasks_raise_is_told_to_nobody() -> None:
    stage = Stage()
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))

    @stage.leaves.action("bitter")
    async def bitter(leaf: object) -> None:  # pyright: ignore[reportUnusedFunction]
        try:
            await asyncio.sleep(9)
        finally:
            raise RuntimeError("bitter to the end")

    tree = stage.tree(node("action", fn="bitter"))
    tree.tick()
    await settle()
    assert await tree.close() == 0
    del tree
    gc.collect()
    await settle()
    assert told == []


@pytest.mark.guarantee("E1")
async def test_an_action_that_fails_beside_others_does_not_wake_a_tree_that_has_given_it_up() -> None:
    stage = Stage()
    tree = stage.tree(node("reactive_selector", condition("?", "fsf"), waits("a")))
    tree.tick()
    await settle()
    assert tree.tick() is SUCCESS
    await settle()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await tree.wait()


@pytest.mark.parametrize("method", ["tick", "halt"])
def test_a_leaf_cannot_tick_or_halt_its_own_tree(method: str) -> None:
    stage = Stage()

    @stage.leaves.action("meddle")
    def meddle(leaf: object) -> None:  # pyright: ignore[reportUnusedFunction]
        getattr(tree, method)()

    tree = stage.tree(node("action", name="meddle", fn="meddle"))
    assert tree.tick() is FAILURE
    assert tree.errors["meddle"].startswith(RunStateError.__name__)
    assert "Call wake()" in tree.errors["meddle"]


def test_a_tree_can_be_run_in_one_event_loop_after_the_other() -> None:
    stage = Stage()
    stage.services.answers = ["one", "two"]
    tree = stage.tree(node("llm_call"))
    assert asyncio.run(tree.run()) is SUCCESS
    assert asyncio.run(tree.run()) is SUCCESS
