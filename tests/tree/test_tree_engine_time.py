"""Deadlines, shares, and when a tree is ticked again (E1, E12).

What a tree costs in time is for ``benchmarks/bench_tree.py`` and ``benchmarks/bench_oracle.py`` to say.
"""

from __future__ import annotations

import asyncio
import time

import pytest
from tree_stage import Stage, condition, node, plays, settle, waits

from endstop.tree.spec import NodeSpec
from endstop.tree.status import RunStatus

SUCCESS, FAILURE, RUNNING = RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.RUNNING


def real_stage() -> Stage:
    """A stage on which time goes by."""
    stage = Stage()
    stage.services.clock = time.monotonic
    return stage


@pytest.mark.guarantee("E1")
def test_a_timeout_counts_from_its_first_tick_and_begins_anew_afterwards() -> None:
    stage = Stage()
    tree = stage.tree(node("timeout", node("sequence", plays("a", "s"), plays("b", "r")), seconds=5))
    assert stage.ticked(tree, 1) == ["ab r"]
    stage.services.time_s += 4.9
    assert stage.ticked(tree, 1) == ["b r"]
    stage.services.time_s += 0.1
    assert stage.ticked(tree, 1) == ["f"]
    assert tree.running_path == ()
    assert stage.ticked(tree, 1) == ["ab r"]


def test_a_timeout_lets_its_node_end_in_time() -> None:
    stage = Stage()
    tree = stage.tree(node("timeout", plays("a", "rsf"), seconds=5))
    assert stage.ticked(tree, 3) == ["a r", "a s", "a f"]


@pytest.mark.guarantee("E1")
def test_a_cooldown_fails_until_its_node_has_rested() -> None:
    stage = Stage()
    tree = stage.tree(node("cooldown", plays("a", "rsr"), seconds=10))
    assert stage.ticked(tree, 4) == ["a r", "a s", "f", "f"]
    stage.services.time_s += 9.9
    assert stage.ticked(tree, 1) == ["f"]
    stage.services.time_s += 0.1
    assert stage.ticked(tree, 1) == ["a r"]


def test_a_node_that_was_halted_need_not_rest() -> None:
    stage = Stage()
    tree = stage.tree(node("cooldown", plays("a", "rrs"), seconds=10))
    assert stage.ticked(tree, 1) == ["a r"]
    tree.halt()
    assert stage.ticked(tree, 3) == ["a r", "a s", "f"]


@pytest.mark.guarantee("E1")
def test_a_budget_holds_its_node_to_a_share_and_closes_it_when_it_ends() -> None:
    stage = Stage()
    root = node(
        "budget", plays("a", "rs"), name="part", turns="max_turns", tokens=100, cost_usd="0.5", seconds=3
    )
    tree = stage.tree(root, counts={"max_turns": 30})
    assert stage.ticked(tree, 1) == ["a r"]
    share = stage.services.shares["part"]
    assert dict(share.limits) == {"turns": 30, "tokens": 100, "cost_usd": "0.5", "seconds": 3.0}
    assert share.closed == 0
    assert stage.ticked(tree, 1) == ["a s"]
    assert share.closed == 1


@pytest.mark.guarantee("E1")
def test_a_share_that_is_used_up_halts_the_node() -> None:
    stage = Stage()
    root = node("budget", node("sequence", plays("a", "s"), plays("b", "r")), name="part", tool_calls=2)
    tree = stage.tree(root)
    tree.tick()
    first = stage.services.shares["part"]
    first.is_used_up = True
    assert stage.ticked(tree, 2) == ["f", "ab r"]
    assert first.closed == 1
    assert stage.services.shares["part"] is not first


def test_a_halted_budget_closes_its_share() -> None:
    stage = Stage()
    tree = stage.tree(node("budget", plays("a", "r"), name="part", turns=1))
    tree.tick()
    tree.halt()
    tree.halt()
    assert stage.services.shares["part"].closed == 1


def test_a_share_that_cannot_be_had_is_a_failure() -> None:
    stage = Stage()
    stage.services.refuses_shares = True
    tree = stage.tree(node("budget", plays("a", "s"), name="part", turns=1))
    assert stage.ticked(tree, 1) == ["f"]
    assert "nothing is left" in tree.errors["part"]


def test_a_share_is_closed_also_when_a_leaf_ends_the_tick_by_force() -> None:
    stage = Stage()

    @stage.leaves.action("interrupt")
    def interrupt(leaf: object) -> None:  # pyright: ignore[reportUnusedFunction]
        raise KeyboardInterrupt

    tree = stage.tree(node("budget", node("action", fn="interrupt"), name="part", turns=1))
    with pytest.raises(KeyboardInterrupt):
        tree.tick()
    assert stage.services.shares["part"].closed == 1


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize(
    "root",
    [
        node("timeout", waits("a"), seconds=0.03),
        node("timeout", node("timeout", waits("a"), seconds=0.03), seconds=9),
        node("timeout", node("timeout", waits("a"), seconds=9), seconds=0.03),
        node("budget", waits("a"), name="part", seconds=0.03),
        node("reactive_selector", node("cooldown", plays("b", "f"), seconds=0.03), waits("a")),
    ],
    ids=["timeout", "inner timeout", "outer timeout", "budget", "cooldown"],
)
async def test_a_deadline_wakes_the_tree_and_nothing_does_before(root: NodeSpec) -> None:
    tree = real_stage().tree(root)
    began_s = time.monotonic()
    assert tree.tick() is RUNNING
    async with asyncio.timeout(1):
        await tree.wait()
    assert time.monotonic() - began_s >= 0.03
    await tree.close()


async def test_a_share_whose_seconds_are_over_is_not_looked_at_over_and_over() -> None:
    stage = real_stage()
    tree = stage.tree(node("budget", waits("a"), name="part", seconds=0.01))
    tree.tick()
    await tree.wait()
    assert tree.tick() is RUNNING, "whoever keeps the share says that it is not used up"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.03):
            await tree.wait()
    await tree.close()


async def test_a_clock_that_stands_still_does_not_make_the_tree_spin() -> None:
    stage = Stage()
    tree = stage.tree(node("timeout", waits("a"), seconds=0.000_001))
    tree.tick()
    looked: list[float] = []

    def stands_still() -> float:
        looked.append(100.0)
        return 100.0

    stage.services.clock = stands_still
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await tree.wait()
    assert 0 < len(looked) <= 60
    await tree.close()


@pytest.mark.guarantee("E1")
async def test_a_tree_whose_action_just_runs_is_not_ticked_until_something_happened() -> None:
    stage = Stage()
    tree = stage.tree(node("reactive_sequence", condition("?", "s"), waits("a")))
    running = asyncio.create_task(tree.run())
    await asyncio.sleep(0.02)
    assert stage.log.count("?") == 1
    tree.wake()
    await asyncio.sleep(0.02)
    assert stage.log.count("?") == 2
    stage.finish("a")
    assert await running is SUCCESS
    assert stage.log.count("?") == 3


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize("when", ["before waiting", "while waiting", "while waiting, twice"])
async def test_a_wake_is_never_lost(when: str) -> None:
    tree = Stage().tree(waits("a"))
    tree.tick()
    if when == "before waiting":
        tree.wake()
    waiting = asyncio.create_task(tree.wait())
    await settle()
    if when != "before waiting":
        tree.wake()
        if when.endswith("twice"):
            tree.wake()
    async with asyncio.timeout(1):
        await waiting
    await tree.close()


async def test_a_wake_by_a_leaf_in_a_tick_is_not_lost() -> None:
    stage = Stage()

    @stage.leaves.action("wake")
    def wake(leaf: object) -> RunStatus:  # pyright: ignore[reportUnusedFunction]
        tree.wake()
        return RUNNING

    tree = stage.tree(node("action", fn="wake"))
    tree.tick()
    async with asyncio.timeout(1):
        await tree.wait()


async def test_all_who_wait_are_woken_and_a_tick_between_uses_the_wake_up() -> None:
    tree = Stage().tree(waits("a"))
    tree.tick()
    both = [asyncio.create_task(tree.wait()) for _ in range(2)]
    await settle()
    tree.wake()
    await asyncio.wait_for(asyncio.gather(*both), 1)
    waiting = asyncio.create_task(tree.wait())
    tree.tick()
    await settle()
    assert not waiting.done()
    tree.wake()
    tree.tick()
    await settle()
    assert not waiting.done(), "somebody else has looked already"
    tree.wake()
    await asyncio.wait_for(waiting, 1)
    await tree.close()


async def test_loops_let_others_have_their_turn_between_rounds() -> None:
    stage = Stage()
    tree = stage.tree(node("retry", plays("a", "f"), attempts=50))
    running = asyncio.create_task(tree.run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert 0 < len(stage.log) < 10
    assert await running is FAILURE
    assert len(stage.log) == 50


async def test_a_wait_may_have_an_end_of_its_own() -> None:
    tree = Stage().tree(waits("a"))
    tree.tick()
    assert not await tree.wait(0.01), "nothing happened"
    tree.wake()
    assert await tree.wait(0.01)
    await tree.close()


async def test_a_wait_ends_in_time_though_the_trees_own_clock_stands_still() -> None:
    tree = Stage().tree(node("timeout", waits("a"), seconds=5))
    tree.tick()
    async with asyncio.timeout(1):
        assert not await tree.wait(0.01)
    await tree.close()


async def test_what_is_due_ends_a_wait_before_its_own_end() -> None:
    tree = real_stage().tree(node("timeout", waits("a"), seconds=0.01))
    tree.tick()
    async with asyncio.timeout(1):
        assert await tree.wait(30)
    await tree.close()


@pytest.mark.guarantee("E12")
async def test_a_turn_costs_a_few_ticks_however_long_it_takes() -> None:
    stage = Stage()

    @stage.leaves.action("turn")
    async def turn(leaf: object) -> None:  # pyright: ignore[reportUnusedFunction]
        await asyncio.sleep(0.05)

    guards = [condition(f"guard {number}", "s") for number in range(10)]
    body = node("reactive_sequence", *guards, node("action", fn="turn"))
    tree = stage.tree(node("repeat_until", body, max=3, ends_in="failure"))
    ticks, status = 0, RUNNING
    while status is RUNNING:
        ticks += 1
        status = tree.tick()
        await tree.wait() if status is RUNNING else None
    assert ticks == 3 * 2, "one to begin each turn, and one to end it"


async def test_a_tree_that_has_seen_the_end_of_an_action_is_not_woken_for_it_again() -> None:
    stage = Stage()
    tree = stage.tree(node("sequence", waits("a"), waits("b")))
    tree.tick()
    await settle()
    stage.finish("a")
    await asyncio.sleep(0)
    assert tree.tick() is RUNNING, "it looked by itself, before it was told"
    assert tree.running_path == ("sequence", "b")
    await settle()
    assert not tree.is_awake
    await tree.close()
