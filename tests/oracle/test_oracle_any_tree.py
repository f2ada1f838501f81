"""Whatever a tree says: the run's limits hold beneath it, it ends, and its record can be audited (E11)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_words import SlowModel, ask, need_turn, of, oracle, tree_of

from endstop.errors import TreeError
from endstop.events.steered import TreeTraced
from endstop.kernel.budget import Budget
from endstop.kernel.observation import (
    AssistantSaid,
    CallReserved,
    CallSettled,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from endstop.kernel.outcome import Failed, Forced
from endstop.oracle.leaves import LEAVES
from endstop.oracle.steering import GRACE_S
from endstop.ports import Model
from endstop.testing import ScriptedModel, calls, echo_tool
from endstop.tree.leaves import LeafContext
from endstop.tree.spec import NodeSpec, TreeSpec
from endstop.tree.validate import checked

ARGUMENTS: dict[str, dict[str, object]] = {
    "signals.signal_type_is": {"type": "need_turn"},
    "reply.is_longer_than": {"chars": 20},
}
CONDITIONS = sorted(leaf.name for leaf in LEAVES if not leaf.is_action)
ACTIONS = sorted(leaf.name for leaf in LEAVES if leaf.is_action)


def reject_unless(is_expected: bool) -> None:
    if not is_expected:
        pytest.fail("a tree of sound parts was refused for something else than its loops")


def _composite(kind: str, children: tuple[NodeSpec, ...]) -> NodeSpec:
    return NodeSpec(kind=kind, name=kind, children=children)


def _wrapped(wrap: Callable[[NodeSpec], NodeSpec], child: NodeSpec) -> NodeSpec:
    return wrap(child)


def _leaf(kind: str, fn: str) -> NodeSpec:
    parameters: dict[str, object] = {"fn": fn}
    if fn in ARGUMENTS:
        parameters["args"] = ARGUMENTS[fn]
    return NodeSpec(kind=kind, name=fn, parameters=parameters)  # pyright: ignore[reportArgumentType]


def _decorated(kind: str, **parameters: object) -> Callable[[NodeSpec], NodeSpec]:
    return lambda child: NodeSpec(kind=kind, name=kind, parameters=parameters, children=(child,))  # pyright: ignore[reportArgumentType]


LEAF = st.one_of(
    st.sampled_from(CONDITIONS).map(lambda fn: _leaf("condition", fn)),
    st.sampled_from(ACTIONS).map(lambda fn: _leaf("action", fn)),
    st.just(_leaf("action", "turn.take_turn")),
    st.just(_leaf("action", "tools.run_tools")),
    st.just(NodeSpec(kind="llm_call", name="ask", parameters={"prompt": "Go on."})),
    st.just(NodeSpec(kind="tool_call", name="echo", parameters={"tool": "echo", "args": {"text": "x"}})),
)


def _with_children(children: st.SearchStrategy[NodeSpec]) -> st.SearchStrategy[NodeSpec]:
    several = st.lists(children, min_size=1, max_size=4).map(tuple)
    composite = st.builds(
        _composite,
        st.sampled_from(["sequence", "selector", "parallel", "reactive_sequence", "reactive_selector"]),
        several,
    )
    decorator = st.sampled_from(
        [
            _decorated("retry", attempts=3),
            _decorated("retry", attempts="max_turns"),
            _decorated("repeat_until", max=50, expression="is_done"),
            _decorated("repeat_until", max=20, fn="run.is_finished"),
            _decorated("timeout", seconds=0.05),
            _decorated("inverter"),
            _decorated("always_succeed"),
            _decorated("always_fail"),
            _decorated("cooldown", seconds=0.01),
            _decorated("budget", turns=2, tokens=3_000, tool_calls=1),
            _decorated("guard", fn="run.is_cancelled"),
        ]
    )
    return st.one_of(composite, st.builds(_wrapped, decorator, children))


TREES = st.recursive(LEAF, _with_children, max_leaves=15)
REPLIES = st.lists(
    st.sampled_from(
        [
            "An answer.",
            "",
            f"Step. {need_turn('more')}",
            f"Other. {need_turn('something else')}",
            'Stuck. <signal type="stuck"><blocker>a wall</blocker></signal>',
            '<signal type="delegation_recommended"><scope>Look.</scope></signal>',
            calls("echo", text="a"),
            calls("nothing_like_it"),
        ]
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.guarantee("E11", "A14")
@given(root=TREES, replies=REPLIES, turns=st.integers(1, 5), is_slow=st.booleans())
@settings(deadline=None, max_examples=150)
def test_no_tree_makes_a_run_exceed_its_budget(
    root: NodeSpec, replies: list[object], turns: int, is_slow: bool
) -> None:
    keys = NodeSpec(kind="sequence", name="all", children=(_leaf("action", "state.reset_state"), root))
    try:
        tree = checked(TreeSpec(name="any", root=keys), lambda _: None, leaves=LEAVES)
    except TreeError as refused:  # loops in loops in loops: there is a bound to that, too
        reject_unless("bound" in str(refused))
        return
    most = Budget(turns=turns, tokens=30_000, seconds=2, tool_calls_per_turn=3, parallel_tools=2)
    scripted = ScriptedModel(*replies, piece_chars=3)  # pyright: ignore[reportArgumentType]
    model: Model = SlowModel(scripted) if is_slow else scripted
    began_s = time.monotonic()
    done = asyncio.run(ask(oracle(model, echo_tool(), budget=most, tree=tree)))  # which audits it
    assert time.monotonic() - began_s < 2 + 5
    assert done.outcome is not None
    own = [one for one in of(done.facts, TurnStarted) if one.scope == "run"]
    assert len(own) <= turns
    assert len(of(done.facts, ToolCalled)) == len(of(done.facts, ToolFinished))


# ── trees that would run away ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("E11")
async def test_a_tree_that_does_nothing_is_told_from_one_that_works() -> None:
    tree = tree_of('return BT.tree("own", { root = BT.action("state.reset_state") })')
    done = await ask(oracle(ScriptedModel("Hi."), tree=tree))
    assert isinstance(done.outcome, Failed)
    assert done.outcome.code == "steering_idle"


async def test_what_a_leaf_failed_with_stands_in_the_record() -> None:
    tree = tree_of(
        """return BT.tree("own", { root = BT.sequence { BT.action("turn.take_turn"),
             BT.action("test.breaks") } })"""
    )
    done = await ask(oracle(ScriptedModel("A."), tree=tree, budget=Budget(turns=2)))
    told = [one.errors for one in of(done.facts, TreeTraced) if one.errors]
    assert "the roof is gone" in told[0][0]


@LEAVES.action("test.breaks")
def breaks(_: LeafContext) -> None:
    """Fails."""
    raise OSError("the roof is gone")


async def test_a_tree_that_halts_its_turn_has_taken_one() -> None:
    tree = tree_of(
        """return BT.tree("own", { root = BT.timeout { seconds = 0.02, BT.action("turn.take_turn") } })"""
    )
    done = await ask(oracle(ScriptedModel("A.", delay_s=0.2), tree=tree, budget=Budget(turns=2)))
    assert isinstance(done.outcome, Forced)
    assert len(of(done.facts, TurnStarted)) == 2


@pytest.mark.guarantee("E1", "H5")
@pytest.mark.parametrize(
    "after", ["turn.end_turn", "turn.take_turn", "budget.force_completion", "run.emit_done"]
)
async def test_what_is_done_right_after_a_reply_was_halted_finds_it_settled(after: str) -> None:
    tree = tree_of(
        f"""return BT.tree("own", {{
             root = BT.repeat_until {{ max = 20, expression = "is_done", BT.selector {{
               BT.reactive_sequence {{
                 BT.inverter {{ BT.condition("reply.is_longer_than", {{ args = {{ chars = 40 }} }}) }},
               BT.action("turn.take_turn") }},
             BT.action("{after}"), BT.action("run.leave_loop") }} }} }})"""
    )
    words = " ".join(f"word {number}" for number in range(200))
    model = SlowModel(ScriptedModel(words, piece_chars=8))
    done = await ask(oracle(model, tree=tree, budget=Budget(turns=3, tokens=100_000, seconds=20)))
    said = of(done.facts, AssistantSaid)
    assert said
    assert all(one.is_cut_off and len(one.text) > 40 for one in said[:1])
    assert len(of(done.facts, CallReserved)) == len(of(done.facts, CallSettled))
    order = [type(fact.payload) for fact in done.facts if getattr(fact.payload, "turn", None) == 0]
    assert order.index(CallSettled) < order.index(AssistantSaid) < order.index(TurnEnded)


@pytest.mark.guarantee("E11")
async def test_a_tree_that_spins_without_taking_turns_is_ended_by_the_time_limit() -> None:
    tree = tree_of(
        """return BT.tree("own", { root = BT.sequence {
             BT.action("turn.take_turn"),
             BT.retry { attempts = 1000, BT.retry { attempts = 900,
               BT.condition("run.is_finished") } } } })"""
    )
    began_s = time.monotonic()
    done = await ask(
        oracle(ScriptedModel(f"A. {need_turn()}"), tree=tree, budget=Budget(turns=5, seconds=0.5))
    )
    assert time.monotonic() - began_s < 0.5 + GRACE_S + 0.5
    assert isinstance(done.outcome, Forced)


@LEAVES.action("test.never_returns")
async def never_returns(_: LeafContext) -> None:
    """Waits for ever, and does not take being cancelled for an answer."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(0.3)


@pytest.mark.guarantee("E11")
async def test_a_leaf_that_never_returns_is_ended_by_the_time_limit() -> None:
    tree = tree_of(
        """return BT.tree("own", { root = BT.sequence {
             BT.action("turn.take_turn"), BT.action("test.never_returns") } })"""
    )
    began_s = time.monotonic()
    done = await ask(oracle(ScriptedModel("A."), tree=tree, budget=Budget(turns=5, seconds=0.4)))
    assert time.monotonic() - began_s < 0.4 + GRACE_S + 1.0
    assert isinstance(done.outcome, Forced)


@pytest.mark.guarantee("E11")
async def test_a_guard_that_flips_each_tick_ends_at_the_turn_limit() -> None:
    flips = iter(range(10**9))

    @LEAVES.condition("test.flips")
    def flips_each_tick(_: LeafContext) -> bool:
        return next(flips) % 2 == 0

    assert flips_each_tick
    tree = tree_of(
        """return BT.tree("own", { root = BT.repeat_until { max = 1000, fn = "run.must_stop",
             BT.reactive_sequence { BT.condition("test.flips"), BT.action("turn.take_turn") } } })"""
    )
    said = [f"A. {need_turn(f'reason {number}')}" for number in range(9)]
    model = SlowModel(ScriptedModel(*said, piece_chars=4))
    done = await ask(oracle(model, tree=tree, budget=Budget(turns=4)))
    assert len(of(done.facts, TurnStarted)) == 4
    assert done.audit()


@pytest.mark.guarantee("E3")
@pytest.mark.parametrize(
    ("lua", "says"),
    [
        ('BT.action("os.system")', "os.system"),
        ('BT.action("turn.take_trun")', "take_turn"),
        ('BT.retry { attempts = 0, BT.action("turn.take_turn") }', "attempts"),
        ('BT.retry { BT.action("turn.take_turn") }', "attempts"),
        ('BT.repeat_until { max = 1e9, expression = "is_done", BT.action("turn.take_turn") }', "max"),
        (
            'BT.repeat_until { max = 10000, expression = "is_done", BT.repeat_until { max = 10000, '
            'expression = "is_done", BT.action("turn.take_turn") } }',
            "bound",
        ),
        ('BT.subtree_ref("own")', "own"),
        ('BT.subtree_ref("nowhere")', "nowhere"),
        ('BT.condition { expression = "nobody > 3" }', "nobody"),
        ("BT.sequence {}", "node"),
    ],
)
def test_a_tree_that_cannot_be_held_is_refused_when_it_is_loaded(lua: str, says: str) -> None:
    with pytest.raises(TreeError) as refused:
        tree_of(f'return BT.tree("own", {{ root = {lua} }})')
    assert any(says in problem for problem in refused.value.problems)
    assert all(problem.startswith("own.lua:1") for problem in refused.value.problems)
