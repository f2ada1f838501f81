"""From a specification to a tree that can run: references, keys, numbering, and what is refused (E1, E6)."""

from __future__ import annotations

from typing import Any

import pytest
from tree_stage import Stage, condition, key, looks, node, plays, waits, writes

from endstop.errors import TreeError
from endstop.tree import trace as tracing
from endstop.tree.blackboard import Blackboard
from endstop.tree.draw import expanded
from endstop.tree.engine import Tree
from endstop.tree.keys import keys_of
from endstop.tree.kinds import KINDS
from endstop.tree.leaves import LeafContext
from endstop.tree.planning import plan_of
from endstop.tree.spec import KeySpec, KeyType, NodeSpec, TreeSpec
from endstop.tree.status import RunStatus

SUCCESS, FAILURE, RUNNING = RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.RUNNING


def other(name: str, root: NodeSpec, *keys: KeySpec) -> TreeSpec:
    return TreeSpec(name=name, file=f"{name}.lua", root=root, keys=keys)


def idle(leaf: LeafContext) -> None:
    """Does nothing."""


def refers(name: str) -> NodeSpec:
    return node("subtree_ref", name=f"to {name}", tree=name)


@pytest.mark.guarantee("E6")
def test_the_nodes_are_numbered_each_before_those_below_it_with_references_followed() -> None:
    root = node("sequence", refers("inner"), plays("last", "s"), name="top")
    subtrees = [other("inner", node("retry", plays("a", "s"), attempts=2, name="again"))]
    tree = Stage().tree(root, subtrees=subtrees)
    assert [(view.index, view.kind, view.path, view.depth) for view in tree.nodes] == [
        (0, "sequence", "top", 0),
        (1, "subtree_ref", "top/to inner", 1),
        (2, "retry", "top/to inner/again", 2),
        (3, "action", "top/to inner/again/a", 3),
        (4, "action", "top/last", 1),
    ]
    assert [(view.index, view.depth, view.path) for view in tree.nodes] == [
        (place.index, place.depth, place.path) for place in expanded(tree.spec)
    ], "drawings number them the same way"


@pytest.mark.guarantee("E1")
def test_a_reference_is_the_other_tree_in_its_place() -> None:
    stage = Stage()
    root = node("sequence", refers("inner"), refers("inner"))
    tree = stage.tree(root, subtrees=[other("inner", plays("a", "rs"))])
    assert stage.ticked(tree, 3) == ["a r", "aa r", "a s"]


@pytest.mark.guarantee("E2")
def test_the_other_tree_sees_this_blackboard_and_its_own_keys_are_its_own() -> None:
    stage = Stage()
    inner = node(
        "sequence", looks("$mine"), looks("$shared"), writes("mine", "set"), writes("shared", "seen")
    )
    root = node("sequence", refers("inner"), refers("inner"))
    tree = stage.tree(
        root,
        keys=[key("shared", default="new")],
        subtrees=[other("inner", inner, key("mine", default="own"))],
    )
    assert tree.tick() is SUCCESS
    assert stage.seen == ["own", "new", "own", "seen"]
    assert tree.blackboard.snapshot() == {"shared": "seen"}


def test_the_board_has_the_keys_that_leaves_write_unless_a_subtree_has_them() -> None:
    stage = Stage()
    stage.leaves.action("writer", writes={"answer": KeyType.STRING, "local": KeyType.LIST})(idle)
    stage.leaves.action("again", writes={"answer": KeyType.STRING})(idle)
    writer = node("action", fn="writer")
    root = node(
        "sequence",
        node("subtree", writer, blackboard={"local": "list"}),
        refers("inner"),
        node("action", fn="again"),
    )
    inner = other("inner", node("sequence", writer, writer), key("local"))
    spec = TreeSpec(name="stage", root=root, keys=(key("own", KeyType.INTEGER, 3),), subtrees=(inner,))
    assert [(one.name, one.type) for one in keys_of(spec, stage.leaves)] == [
        ("own", KeyType.INTEGER),
        ("answer", KeyType.STRING),
    ]
    alone = TreeSpec(name="alone", root=writer)
    assert {one.name for one in keys_of(alone, stage.leaves)} == {"answer", "local"}


def test_a_blackboard_that_is_given_is_used() -> None:
    stage = Stage()
    blackboard = Blackboard([key("x")])
    tree = stage.tree(writes("x", 1), blackboard=blackboard)
    tree.tick()
    assert tree.blackboard is blackboard
    assert blackboard.get("x") == 1


def test_leaves_are_given_the_blackboard_of_their_place_and_what_the_tree_runs_on() -> None:
    stage = Stage()
    given: list[LeafContext] = []
    stage.leaves.action("take")(given.append)
    take = node("action", fn="take")
    tree = stage.tree(node("sequence", take, take, node("subtree", take, blackboard={"x": "any"})))
    tree.tick()
    tree.tick()
    first, second, inner = given[:3]
    assert first is second, "one for all leaves on one board"
    assert given[3:] == [first, second, inner], "and none is made while the tree runs"
    assert first.blackboard is tree.blackboard
    assert inner.blackboard is not None
    assert inner.blackboard.declares("x")
    assert inner.services is stage.services


def test_every_kind_that_there_is_can_be_built() -> None:
    given: dict[str, dict[str, Any]] = {
        "retry": {"attempts": 1},
        "repeat_until": {"max": 1, "ends_in": "success"},
        "timeout": {"seconds": 1},
        "guard": {"expression": "true"},
        "cooldown": {"seconds": 0.5},
        "budget": {"turns": 1},
        "for_each": {"items": "x", "item": "x", "max": 1},
        "condition": {"expression": "true"},
        "action": {"fn": "look", "args": []},
        "tool_call": {"tool": "x"},
        "subtree_ref": {"tree": "inner"},
    }
    for kind in KINDS.values():
        children = [plays("a", "s")] * kind.least_children
        root = node(kind.name, *children, **given.get(kind.name, {}))
        assert Stage().tree(root, subtrees=[other("inner", plays("a", "s"))]).nodes[0].kind == kind.name


A = plays("a", "s")


@pytest.mark.parametrize(
    ("root", "words"),
    [
        (node("sequnce", A), "kind of node is 'sequnce'"),
        (node("sequence"), "number of nodes below sequence"),
        (node("inverter", A, A), "exactly one"),
        (node("condition", A, expression="true"), "none"),
        (node("retry", A), "attempts of retry"),
        (node("retry", A, attempts=0), "a whole number from 1, 'max_turns'"),
        (node("retry", A, attempts=True), "a whole number"),
        (node("retry", A, attempts="max_truns"), "'max_truns'"),
        (node("repeat_until", A, max=1, ends_in="never"), '"success" or "failure"'),
        (node("repeat_until", A, max=1), "fn of repeat_until"),
        (node("timeout", A, seconds=0), "a number above 0"),
        (node("timeout", A, seconds=True), "a number above 0"),
        (node("timeout", A, seconds="5"), "a number above 0"),
        (node("parallel", A, succeed_when="most"), "succeed_when"),
        (node("parallel", A, succeed_when=0), "succeed_when"),
        (node("budget", A), "one limit at least"),
        (node("condition", expression="1 +"), "expression"),
        (node("action", fn="plya"), "the name of a registered action, such as 'play'"),
        (node("condition", fn="play"), "the name of a registered condition."),
        (node("action", fn="is"), "the name of a registered action"),
        (node("action", fn="look", args=["positional"]), "a table with names"),
        (node("llm_call", tools="yes"), "true or false"),
        (node("tool_call"), "tool of tool_call"),
        (node("subtree", A, blackboard="x"), "keys as in"),
        (node("subtree", A, blackboard={"x": "float"}), "type of key 'x' is 'float'"),
        (node("subtree", A, blackboard={"x": {"type": "integer", "default": "a"}}), "a whole number"),
        (refers("nowhere"), "a tree that came with this one"),
        (refers("stage"), "no circles"),
        (refers("loop"), "no circles"),
    ],
)
def test_what_cannot_run_is_refused_with_its_place(root: NodeSpec, words: str) -> None:
    with pytest.raises(TreeError, match="'stage' cannot be used") as caught:
        Stage().tree(root, subtrees=[other("loop", refers("loop"))], counts={"max_turns": 3})
    assert words in caught.value.problems[0]
    assert caught.value.problems[0].startswith(("stage.lua:7: ", "loop.lua:7: "))


def test_a_tree_too_large_or_too_deep_is_refused_before_it_is_built() -> None:
    deep = A
    for _ in range(500):
        deep = node("inverter", deep)
    with pytest.raises(TreeError, match="levels"):
        Stage().tree(deep)
    bomb = [other(f"t{at}", node("sequence", refers(f"t{at + 1}"), refers(f"t{at + 1}"))) for at in range(25)]
    with pytest.raises(TreeError, match="nodes"):
        Stage().tree(refers("t0"), subtrees=[*bomb, other("t25", A)])


@pytest.mark.guarantee("E6")
def test_a_trace_tells_of_each_node_how_often_it_was_ticked_and_how_it_stands() -> None:
    stage = Stage()

    @stage.leaves.condition("broken")
    def broken(leaf: object) -> bool:  # pyright: ignore[reportUnusedFunction]
        raise ValueError("broken")

    root = node("selector", node("condition", name="broken", fn="broken"), plays("a", "rrs"), plays("b", "s"))
    tree = stage.tree(root, is_traced=True, is_timed=True)
    for _ in range(3):
        tree.tick()
    assert [(one.view.name, one.ticks, one.status, one.error) for one in tree.trace.nodes] == [
        ("selector", 3, SUCCESS, None),
        ("broken", 1, FAILURE, "ValueError: broken"),
        ("a", 3, SUCCESS, None),
        ("b", 0, None, None),
    ]
    above, broken_leaf, below, unreached = (one.spent_s for one in tree.trace.nodes)
    assert above is not None
    assert broken_leaf is not None
    assert below is not None
    assert above >= below > 0
    assert broken_leaf > 0
    assert unreached == 0


@pytest.mark.guarantee("E6")
def test_a_trace_counts_and_times_ticks_only_where_somebody_asks_for_it() -> None:
    tree = Stage().tree(A, is_traced=True)
    tree.tick()
    assert [(one.status, one.ticks, one.spent_s) for one in tree.trace.nodes] == [(SUCCESS, None, None)]


@pytest.mark.guarantee("E6")
def test_steps_are_the_changes_in_words() -> None:
    tree = Stage().tree(node("selector", plays("a", "f"), plays("b", "r")), is_traced=True)
    tree.tick()
    assert tree.trace.untaken == 3
    assert tree.trace.take_steps() == ["1 failure", "2 running", "0 running"]
    tree.halt()
    assert tree.trace.take_steps() == ["2 halted", "0 halted"]
    assert tree.trace.take_steps() == []


@pytest.mark.guarantee("E6")
async def test_changes_can_be_taken_once_and_tell_of_halts() -> None:
    stage = Stage()
    tree = stage.tree(node("reactive_sequence", condition("?", "sssf"), waits("a")), is_traced=True)
    tree.tick()
    tree.tick()
    tree.halt()
    assert [(change.index, change.status) for change in tree.trace.take_changes()] == [
        (1, SUCCESS),
        (2, RUNNING),
        (0, RUNNING),
        (2, None),
        (0, None),
    ]
    assert tree.trace.take_changes() == ()
    tree.tick()
    tree.tick()
    assert [(change.index, change.status) for change in tree.trace.take_changes()] == [
        (2, RUNNING),
        (0, RUNNING),
        (1, FAILURE),
        (2, None),
        (0, FAILURE),
    ]


@pytest.mark.guarantee("E6")
def test_a_node_that_had_ended_when_its_parallel_was_halted_keeps_its_status() -> None:
    tree = Stage().tree(node("parallel", plays("a", "s"), plays("b", "r")), is_traced=True)
    tree.tick()
    tree.halt()
    assert [one.status for one in tree.trace.nodes] == [None, SUCCESS, None]


def test_changes_that_nobody_takes_are_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MOST_CHANGES", 3)
    tree = Stage().tree(plays("a", "sf"), is_traced=True)
    for _ in range(5):
        tree.tick()
    assert [change.status for change in tree.trace.take_changes()] == [SUCCESS, FAILURE, SUCCESS]
    assert tree.trace.lost_changes == 2


def test_a_tree_that_is_not_traced_has_an_empty_trace() -> None:
    tree = Stage().tree(A)
    tree.tick()
    assert tree.trace.nodes == []
    assert tree.trace.take_changes() == ()


def test_what_is_known_of_a_tree_is_worked_out_once_for_all_its_runs() -> None:
    stage = Stage()
    spec = TreeSpec(name="stage", root=node("sequence", A, A))
    assert plan_of(spec, stage.leaves) is plan_of(spec, stage.leaves)
    assert plan_of(spec, Stage().leaves) is not plan_of(spec, stage.leaves)


def test_what_was_worked_out_is_so_anew_when_leaves_were_registered_since() -> None:
    stage = Stage()
    spec = TreeSpec(name="stage", root=node("action", fn="later"))
    with pytest.raises(TreeError, match="later"):
        plan_of(spec, stage.leaves)
    stage.leaves.action("later", writes={"found": KeyType.STRING})(idle)
    assert [one.name for one in plan_of(spec, stage.leaves).keys] == ["found"]
    before = plan_of(spec, stage.leaves)
    stage.leaves.action("another")(idle)
    assert plan_of(spec, stage.leaves) is not before


def test_runs_of_one_tree_share_nothing_that_changes() -> None:
    stage = Stage()
    spec = TreeSpec(
        name="stage", root=writes("count", 1), keys=(KeySpec(name="count", type=KeyType.INTEGER),)
    )
    first, second = (Tree(spec, leaves=stage.leaves, is_traced=True) for _ in range(2))
    first.tick()
    assert (first.blackboard.get("count"), second.blackboard.get("count")) == (1, None)
    assert (first.trace.untaken, second.trace.untaken) == (1, 0)


@pytest.mark.guarantee("E6")
def test_a_timed_node_can_be_halted_like_any_other() -> None:
    tree = Stage().tree(node("sequence", plays("a", "r")), is_traced=True, is_timed=True)
    tree.tick()
    tree.halt()
    tree.halt()
    assert tree.trace.take_steps() == ["1 running", "0 running", "1 halted", "0 halted"]
    assert [one.ticks for one in tree.trace.nodes] == [1, 1]
