"""Upper bounds of trees: what a pass and a run can use at most, and loops that have no bound."""

import asyncio
import time
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_words import check, doubling, nested, node, ref, shared, tree
from tree_stage import StageServices

from endstop.errors import UnboundedError
from endstop.kernel.bounds import UpperBound, upper_bound
from endstop.kernel.budget import Budget
from endstop.tree.bounds import GREATEST_COUNTS, MOST_LEAF_RUNS, PassBound, bound_problems, tree_bound
from endstop.tree.engine import Tree
from endstop.tree.leaves import LeafContext, LeafCost, Leaves
from endstop.tree.references import MOST_PROBLEMS
from endstop.tree.spec import KeySpec, KeyType, NodeSpec, TreeSpec
from endstop.tree.status import RunStatus

COUNTS = {"max_turns": 30, "max_tool_calls_per_turn": 10, "max_parallel_tools": 3}
AMPLE = Budget(turns=1_000_000)

LEAVES = Leaves()


@LEAVES.condition("budget.is_fine")
def is_fine(leaf: LeafContext) -> bool:
    return True


@LEAVES.action("notes.tidy")
def tidy(leaf: LeafContext) -> None: ...


@LEAVES.action("turn.take", cost=LeafCost(turns=1))
async def take(leaf: LeafContext) -> None: ...


@LEAVES.action("turn.take_twice", cost=LeafCost(turns=2))
def take_twice(leaf: LeafContext) -> None: ...


@LEAVES.action("turn.run_tools", cost=LeafCost(runs_tools=True))
async def run_tools(leaf: LeafContext) -> None: ...


@LEAVES.action("notes.look", cost=LeafCost(tool_calls=4))
async def look(leaf: LeafContext) -> None: ...


@LEAVES.action("notes.wait")
async def wait(leaf: LeafContext) -> None: ...


def act(name: str) -> NodeSpec:
    return node("action", name=name, fn=name)


TURN = act("turn.take")
TOOLS = act("turn.run_tools")
TIDY = act("notes.tidy")
CALL = node("tool_call", tool="search")
ASK = node("llm_call", prompt="?")


def one_pass(root: NodeSpec, *subtrees: TreeSpec, budget: Budget = AMPLE, **options: Any) -> PassBound:
    whole = tree("main", root, *subtrees)
    options.setdefault("calls_per_turn", 1)
    return tree_bound(whole, leaves=LEAVES, counts=COUNTS, budget=budget, **options).per_pass


def one_run(root: NodeSpec, budget: Budget, **options: Any) -> UpperBound:
    options.setdefault("calls_per_turn", 1)
    return tree_bound(tree("main", root), leaves=LEAVES, counts=COUNTS, budget=budget, **options).per_run


@pytest.mark.guarantee("A13", "E6")
@pytest.mark.parametrize(
    ("root", "leaf_runs", "turns", "tool_calls"),
    [
        (check(), 1, 0, 0),
        (node("condition", fn="budget.is_fine"), 1, 0, 0),
        (TIDY, 1, 0, 0),
        (TURN, 1, 1, 0),
        (act("turn.take_twice"), 1, 2, 0),
        (TOOLS, 1, 0, 10),
        (act("notes.look"), 1, 0, 4),
        (ASK, 1, 1, 10),
        (node("llm_call", tools=True), 1, 1, 10),
        (node("llm_call", tools=False), 1, 1, 0),
        (CALL, 1, 0, 1),
        (node("sequence", TURN, TOOLS, CALL), 3, 1, 11),
        (node("selector", TURN, ASK), 2, 2, 10),
        (node("parallel", TURN, TURN, TURN), 3, 3, 0),
        (node("reactive_sequence", check(), TURN), 2, 1, 0),
        (node("retry", TURN, attempts=3), 3, 3, 0),
        (node("retry", TURN, attempts="max_turns"), 30, 30, 0),
        (node("repeat_until", node("sequence", TURN, TOOLS), max=5, ends_in="success"), 10, 5, 50),
        (node("repeat_until", TURN, max=5, fn="budget.is_fine"), 10, 5, 0),
        (node("repeat_until", TURN, max=5, expression="true"), 5, 5, 0),
        (node("for_each", CALL, items="a", item="b", max=7), 7, 0, 7),
        (node("retry", node("for_each", ASK, items="a", item="b", max=4), attempts=3), 12, 12, 120),
        (node("guard", TURN, fn="budget.is_fine"), 2, 1, 0),
        (node("guard", TURN, expression="true"), 1, 1, 0),
        (node("inverter", node("always_fail", node("always_succeed", TURN))), 1, 1, 0),
        (node("cooldown", node("timeout", TURN, seconds=5), seconds=5), 1, 1, 0),
        (node("subtree", TURN), 1, 1, 0),
        (node("budget", node("retry", ASK, attempts=9), turns=2), 9, 2, 90),
        (node("budget", node("retry", ASK, attempts=9), turns=20, tool_calls=5), 9, 9, 5),
        (node("budget", node("retry", CALL, attempts=9), tool_calls="max_parallel_tools"), 9, 0, 3),
        (node("retry", node("budget", node("retry", ASK, attempts=9), turns=2), attempts=3), 27, 6, 270),
    ],
)
def test_what_a_pass_uses_is_the_product_of_its_loops(
    root: NodeSpec, leaf_runs: int, turns: int, tool_calls: int
) -> None:
    bound = one_pass(root)
    assert (bound.leaf_runs, bound.turns, bound.tool_calls) == (leaf_runs, turns, tool_calls)
    assert bound.model_calls == turns


@pytest.mark.guarantee("A13")
def test_what_is_referred_to_counts_each_time() -> None:
    part = tree("part", node("retry", TURN, attempts=3))
    bound = one_pass(node("sequence", ref("part"), node("retry", ref("part"), attempts=2)), part)
    assert (bound.leaf_runs, bound.turns) == (9, 9)


@pytest.mark.parametrize(
    ("root", "seconds"),
    [
        (check(), 0.0),
        (TIDY, None),
        (TURN, None),
        (node("timeout", TURN, seconds=5), 5.0),
        (node("timeout", check(), seconds=5), 0.0),
        (node("retry", node("timeout", TURN, seconds=5), attempts=3), 15.0),
        (node("timeout", node("retry", node("timeout", TURN, seconds=5), attempts=3), seconds=12), 12.0),
        (node("budget", TURN, seconds=9), 9.0),
        (node("sequence", *[node("timeout", TURN, seconds=5)] * 2), 10.0),
        (node("parallel", node("timeout", TURN, seconds=5), node("timeout", TURN, seconds=7)), 7.0),
        (node("sequence", node("timeout", TURN, seconds=5), TURN), None),
        (node("timeout", TURN, seconds="soon"), None),
        (node("timeout", TURN, seconds=True), None),
    ],
)
def test_time_is_bounded_by_timeouts_and_shares(root: NodeSpec, seconds: float | None) -> None:
    assert one_pass(root).seconds == seconds


@pytest.mark.parametrize(
    ("root", "tokens", "cost_usd"),
    [
        (check(), 0, Decimal(0)),
        (CALL, 0, Decimal(0)),
        (TURN, None, None),
        (node("budget", TURN, tokens=500, cost_usd="0.25"), 500, Decimal("0.25")),
        (
            node("retry", node("budget", TURN, tokens=500, cost_usd=0.25), attempts=4),
            2_000,
            Decimal("1.00"),
        ),
        (node("sequence", CALL, node("budget", TURN, tokens=500)), 500, None),
        (node("budget", TURN, tokens=True, cost_usd="dear"), None, None),
    ],
)
def test_tokens_and_money_are_bounded_by_shares(
    root: NodeSpec, tokens: int | None, cost_usd: Decimal | None
) -> None:
    bound = one_pass(root, budget=Budget(seconds=60))
    assert (bound.tokens, bound.cost_usd) == (tokens, cost_usd)


@pytest.mark.guarantee("A13", "E11")
def test_a_pass_never_uses_more_than_the_run_has() -> None:
    budget = Budget(turns=7, tokens=9_000, cost_usd="0.50", seconds=60)
    bound = one_pass(node("retry", ASK, attempts=50), budget=budget, calls_per_turn=3)
    assert bound == PassBound(
        leaf_runs=50,
        turns=7,
        model_calls=21,
        tool_calls=70,
        tokens=9_000,
        cost_usd=Decimal("0.50"),
        seconds=60.0,
    )


@pytest.mark.guarantee("A13", "E11")
def test_a_run_is_bounded_by_its_budget_whatever_the_tree_says() -> None:
    budget = Budget(turns=7, tokens=9_000, cost_usd="0.50", seconds=60)
    assert one_run(TURN, budget, calls_per_turn=2) == UpperBound(
        turns=7, model_calls=14, tool_calls=0, tokens=9_000, cost_usd=Decimal("0.50"), seconds=60.0
    )


@pytest.mark.parametrize(
    ("root", "budget", "tool_calls"),
    [
        (TURN, Budget(turns=5), 0),
        (TURN, Budget(seconds=60), 0),
        (ASK, Budget(seconds=60), None),
        (ASK, Budget(turns=5), 5 * 10),
        (ASK, Budget(turns=5, tool_calls_per_turn=2), 5 * 2),
        (CALL, Budget(turns=5), 6),
        (node("retry", CALL, attempts=3), Budget(turns=5), 18),
        (node("sequence", ASK, CALL), Budget(turns=5), 5 * 10 + 6),
        (node("sequence", TURN, TOOLS, act("notes.look")), Budget(turns=5), 5 * 10 + 6 * 4),
        (node("budget", ASK, tool_calls=1), Budget(turns=5), 6),
    ],
)
def test_a_run_calls_what_its_replies_ask_for_and_what_the_tree_calls_in_each_pass(
    root: NodeSpec, budget: Budget, tool_calls: int | None
) -> None:
    assert one_run(root, budget).tool_calls == tool_calls


def test_a_count_that_nobody_configured_is_taken_at_its_most() -> None:
    whole = tree("main", node("retry", TURN, attempts="max_turns"))
    assert (
        tree_bound(whole, leaves=LEAVES, counts={}, budget=AMPLE, calls_per_turn=1).per_pass.turns == 10_000
    )


def test_an_action_that_nobody_registered_counts_as_a_leaf() -> None:
    assert one_pass(act("gone.away")) == PassBound(leaf_runs=1, seconds=None)
    assert one_pass(node("action", fn=3)).leaf_runs == 1


def thousand(child: NodeSpec) -> NodeSpec:
    return node("retry", child, attempts=1_000)


@pytest.mark.guarantee("A13", "E3")
def test_more_leaves_in_a_pass_than_can_be_reckoned_with_are_refused() -> None:
    fits = tree("main", thousand(thousand(check())))
    assert bound_problems(fits, leaves=LEAVES) == ()
    assert (
        tree_bound(fits, leaves=LEAVES, counts=COUNTS, budget=AMPLE, calls_per_turn=1).per_pass.leaf_runs
        == MOST_LEAF_RUNS
    )
    too_many = tree("main", thousand(thousand(node("sequence", check(), check()))))
    (problem,) = bound_problems(too_many, leaves=LEAVES)
    assert problem.what == (
        "One pass of 'main' could run 2,000,000 leaves, which is no bound worth the name;"
        " 1,000,000 are allowed"
    )
    assert problem.file == "main.lua"
    with pytest.raises(UnboundedError, match="2,000,000 leaves"):
        tree_bound(too_many, leaves=LEAVES, counts=COUNTS, budget=AMPLE, calls_per_turn=1)


def test_at_load_the_greatest_counts_are_assumed() -> None:
    loops = node(
        "retry", node("retry", node("retry", check(), attempts=200), attempts="max_turns"), attempts=51
    )
    assert len(bound_problems(tree("main", loops), leaves=LEAVES)) == 1
    assert bound_problems(tree("main", loops), leaves=LEAVES, counts=COUNTS) == ()
    assert GREATEST_COUNTS == {"max_turns": 100, "max_tool_calls_per_turn": 50, "max_parallel_tools": 10}


@pytest.mark.guarantee("A13")
@pytest.mark.parametrize("reactive", ["reactive_sequence", "reactive_selector"])
@pytest.mark.parametrize(
    "slow",
    [
        TURN,
        ASK,
        CALL,
        TOOLS,
        act("notes.wait"),
        act("turn.take_twice"),
        node("retry", check(), attempts=2),
        node("repeat_until", check(), max=2, ends_in="success"),
        node("for_each", check(), items="a", item="b", max=2),
        node("inverter", node("sequence", check(), TURN)),
        ref("slow"),
    ],
    ids=lambda slow: slow.name,
)
def test_what_a_reactive_node_would_begin_anew_for_ever_is_refused(reactive: str, slow: NodeSpec) -> None:
    late = node("action", name="late", fn="notes.wait", line=5)
    whole = tree("main", node(reactive, check(), slow, late, line=3), tree("slow", TURN))
    (problem,) = bound_problems(whole, leaves=LEAVES)
    assert (problem.file, problem.line) == ("main.lua", 3)
    assert f"{slow.name!r} takes time" in problem.what
    assert problem.to_do == f"Put it last, or use a plain {reactive.removeprefix('reactive_')}"


async def test_such_a_node_would_indeed_be_begun_anew_for_ever() -> None:
    begun: list[str] = []
    leaves = Leaves()

    async def first(leaf: LeafContext) -> None:
        begun.append("first")

    async def second(leaf: LeafContext) -> None:
        begun.append("second")
        await asyncio.sleep(0.01)

    leaves.action("first")(first)
    leaves.action("second")(second)
    endless = tree("main", node("reactive_sequence", act("first"), act("second")))
    running = Tree(endless, leaves=leaves, services=StageServices(), counts={})
    for _ in range(50):
        assert running.tick() is RunStatus.RUNNING
        await running.wait()
    await running.close()
    assert begun.count("first") > 10
    assert len(bound_problems(endless, leaves=leaves)) == 1


def test_the_place_of_such_a_node_is_told_also_in_a_tree_that_is_referred_to() -> None:
    inner = tree("inner", node("reactive_sequence", node("llm_call", line=8), check()))
    (problem,) = bound_problems(tree("main", ref("inner"), inner), leaves=LEAVES)
    assert (problem.file, problem.line) == ("inner.lua", 8)


def test_there_is_an_end_to_the_nodes_that_are_told() -> None:
    many = tree("main", node("reactive_sequence", *[TURN] * 1_000))
    assert len(bound_problems(many, leaves=LEAVES)) == MOST_PROBLEMS


@pytest.mark.parametrize(
    "quick",
    [
        check(),
        node("condition", fn="budget.is_fine"),
        TIDY,
        node("inverter", check()),
        node("guard", TIDY, expression="true"),
        node("selector", check(), TIDY),
        act("gone.away"),
    ],
)
def test_what_takes_no_time_may_be_looked_at_again_and_again(quick: NodeSpec) -> None:
    assert bound_problems(tree("main", node("reactive_sequence", quick, TURN)), leaves=LEAVES) == ()


@pytest.mark.parametrize(
    "hostile",
    [
        tree("wide", node("sequence", *[TURN] * 10_000)),
        tree("deep", nested(10_000)),
        tree("loops", nested(10_000, kind="retry", attempts=10_000)),
        tree("shares", node("budget", nested(300, kind="retry", attempts=10_000), cost_usd="1")),
        tree("shared", shared(50)),
        tree("main", ref("t0"), *doubling(29).values()),
        tree("circle", ref("circle")),
        tree("nonsense", node("retry", node("what"), attempts=[{}])),
    ],
    ids=lambda hostile: hostile.name,
)
def test_a_hostile_tree_is_reckoned_with_in_no_time(hostile: TreeSpec) -> None:
    begun = time.perf_counter()
    bound_problems(hostile, leaves=LEAVES)
    assert time.perf_counter() - begun < 5  # about 0.2, on a machine that does nothing else


def test_figures_of_a_hostile_tree_stay_finite() -> None:
    costly = node("budget", TURN, cost_usd="1", tokens=1, seconds=1)
    for _ in range(500):
        costly = node("retry", node("sequence", costly, costly), attempts=10_000)
    (problem,) = bound_problems(tree("main", costly), leaves=LEAVES)
    assert "more than 1,000,000,000,000 leaves" in problem.what


NODES: st.SearchStrategy[NodeSpec] = st.recursive(
    st.sampled_from([check(), TIDY, TURN, TOOLS, CALL, ASK]),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda nodes: node("sequence", *nodes))
        | st.tuples(inner, st.integers(1, 4)).map(lambda made: node("retry", made[0], attempts=made[1]))
        | st.tuples(inner, st.integers(1, 9)).map(lambda made: node("budget", made[0], turns=made[1]))
    ),
    max_leaves=8,
)


def spent(root: NodeSpec) -> tuple[int, int]:
    """Leaves run and turns taken when every loop goes to its end, done one by one."""
    if root.kind == "retry":
        rounds = [spent(root.children[0]) for _ in range(int(str(root.parameters["attempts"])))]
    elif root.kind == "budget":
        leaves, turns = spent(root.children[0])
        return leaves, min(turns, int(str(root.parameters["turns"])))
    elif root.children:
        rounds = [spent(child) for child in root.children]
    else:
        return 1, int(root.kind == "llm_call" or root.parameters.get("fn") == "turn.take")
    return sum(leaves for leaves, _ in rounds), sum(turns for _, turns in rounds)


@pytest.mark.guarantee("A13")
@given(NODES)
def test_the_bound_is_what_going_through_every_loop_uses(root: NodeSpec) -> None:
    bound = one_pass(root)
    assert (bound.leaf_runs, bound.turns) == spent(root)


@pytest.mark.guarantee("A13", "E11")
@given(NODES, st.integers(1, 50), st.integers(1, 3))
def test_neither_bound_is_past_the_budget(root: NodeSpec, turns: int, calls: int) -> None:
    budget = Budget(turns=turns, tokens=5_000, seconds=60)
    bound = tree_bound(tree("main", root), leaves=LEAVES, counts=COUNTS, budget=budget, calls_per_turn=calls)
    plain = upper_bound(budget, calls_per_turn=calls)
    assert bound.per_run.turns == plain.turns
    assert bound.per_pass.turns <= turns
    assert bound.per_pass.model_calls <= turns * calls
    assert bound.per_pass.tool_calls <= (bound.per_run.tool_calls or 0)


CHANCE = node("action", fn="chance.act")
RUNNABLE: st.SearchStrategy[NodeSpec] = st.recursive(
    st.sampled_from([CHANCE, node("condition", fn="chance.ask")]),
    lambda inner: (
        st.tuples(
            st.sampled_from(["sequence", "selector", "parallel"]), st.lists(inner, min_size=1, max_size=3)
        ).map(lambda made: node(made[0], *made[1]))
        | st.tuples(inner, st.integers(1, 4)).map(lambda made: node("retry", made[0], attempts=made[1]))
        | st.tuples(inner, st.integers(1, 4)).map(
            lambda made: node("repeat_until", made[0], max=made[1], fn="chance.ask")
        )
        | st.tuples(inner, st.integers(1, 4)).map(
            lambda made: node("for_each", made[0], items="items", item="item", max=made[1])
        )
        | inner.map(lambda made: node("inverter", made))
    ),
    max_leaves=6,
)


@pytest.mark.guarantee("A13")
@given(RUNNABLE, st.randoms(use_true_random=False))
def test_no_run_of_a_tree_runs_more_leaves_than_its_bound(root: NodeSpec, chance: Random) -> None:
    ran: list[str] = []

    def answer(leaf: LeafContext) -> bool:
        ran.append("leaf")
        return chance.random() < 0.5

    leaves = Leaves()
    leaves.action("chance.act")(answer)
    leaves.condition("chance.ask")(answer)
    keys = (KeySpec(name="items", type=KeyType.LIST, default=[1, 2, 3, 4, 5, 6]), KeySpec(name="item"))
    whole = tree("main", root, keys=keys)
    bound = tree_bound(whole, leaves=leaves, counts=COUNTS, budget=AMPLE, calls_per_turn=1).per_pass.leaf_runs
    running = Tree(whole, leaves=leaves, services=StageServices(), counts=COUNTS)
    while running.tick() is RunStatus.RUNNING:
        assert len(ran) <= bound
    assert 1 <= len(ran) <= bound
