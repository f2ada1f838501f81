"""What each kind of node does, tick by tick: the leaves that are asked, and how the root stands then (E1)."""

from __future__ import annotations

import pytest
from tree_stage import Stage, condition, key, looks, node, plays, writes

from endstop.tree.spec import KeyType, NodeSpec

S, F = "success", "failure"

COMPOSITES: list[tuple[str, NodeSpec, list[str]]] = [
    (
        "a sequence goes on while its nodes succeed",
        node("sequence", plays("a", "s"), plays("b", "f"), plays("c", "s")),
        ["ab f", "ab f"],
    ),
    (
        "a sequence goes on where it stood, and begins anew after its end",
        node("sequence", plays("a", "s"), plays("b", "rrs"), plays("c", "s")),
        ["ab r", "b r", "bc s", "ab r"],
    ),
    (
        "a sequence that failed while running begins anew",
        node("sequence", plays("a", "s"), plays("b", "rf"), plays("c", "s")),
        ["ab r", "b f", "ab r"],
    ),
    (
        "a selector goes on while its nodes fail",
        node("selector", plays("a", "f"), plays("b", "s"), plays("c", "s")),
        ["ab s", "ab s"],
    ),
    (
        "a selector goes on where it stood, and fails if all do",
        node("selector", plays("a", "f"), plays("b", "rf"), plays("c", "f")),
        ["ab r", "bc f", "ab r"],
    ),
    (
        "a reactive sequence looks at its first nodes again",
        node("reactive_sequence", condition("a", "s"), plays("b", "rrs"), plays("c", "s")),
        ["ab r", "ab r", "abc s"],
    ),
    (
        "a reactive sequence ends when a node before the running one fails, and then begins anew",
        node("reactive_sequence", condition("a", "sf"), node("sequence", plays("b", "s"), plays("c", "r"))),
        ["abc r", "a f", "abc r"],
    ),
    (
        "a reactive sequence halts the running node also for one before it that takes time",
        node("reactive_sequence", plays("a", "srs"), node("sequence", plays("b", "s"), plays("c", "r"))),
        ["abc r", "a r", "abc r"],
    ),
    (
        "a reactive selector ends when a node before the running one succeeds",
        node("reactive_selector", condition("a", "fs"), node("sequence", plays("b", "s"), plays("c", "r"))),
        ["abc r", "a s", "abc r"],
    ),
    (
        "a reactive selector fails if all do",
        node("reactive_selector", condition("a", "f"), plays("b", "rf")),
        ["ab r", "ab f"],
    ),
    (
        "a parallel asks only those that are still running",
        node("parallel", plays("a", "rs"), plays("b", "s"), plays("c", "rrs")),
        ["abc r", "ac r", "c s", "abc r"],
    ),
    (
        "a parallel is decided as soon as it can be, and halts the rest",
        node(
            "parallel",
            plays("a", "rf"),
            node("sequence", plays("b", "s"), plays("c", "r")),
            succeed_when="all",
        ),
        ["abc r", "a f", "abc r"],
    ),
]

DECORATORS: list[tuple[str, NodeSpec, list[str]]] = [
    ("an inverter turns success round", node("inverter", plays("a", "rs")), ["a r", "a f"]),
    ("an inverter turns failure round", node("inverter", plays("a", "rf")), ["a r", "a s"]),
    (
        "always_succeed succeeds when its node ends",
        node("always_succeed", plays("a", "rfs")),
        ["a r", "a s", "a s"],
    ),
    ("always_fail fails when its node ends", node("always_fail", plays("a", "rsf")), ["a r", "a f", "a f"]),
    ("a subtree is its node", node("subtree", plays("a", "rsf")), ["a r", "a s", "a f"]),
    (
        "a guard is looked at before each tick of its node, which begins anew after it was halted",
        node(
            "guard",
            node("sequence", plays("a", "s"), plays("b", "r")),
            fn="is",
            args={"name": "?", "answers": "sfs"},
        ),
        ["?ab r", "? f", "?ab r"],
    ),
    (
        "a guard lets its node end",
        node("guard", plays("a", "rsf"), fn="is", args={"name": "?", "answers": "s"}),
        ["?a r", "?a s", "?a f"],
    ),
    (
        "a guard that flips at each tick never lets its node get further",
        node(
            "guard",
            node("sequence", plays("a", "r"), plays("b", "s")),
            fn="is",
            args={"name": "?", "answers": "sf"},
        ),
        ["?a r", "? f"] * 5,
    ),
]

LOOPS: list[tuple[str, NodeSpec, list[str]]] = [
    (
        "retry begins its node anew, one round per tick, until it succeeds",
        node("retry", node("sequence", plays("a", "s"), plays("b", "ffs")), attempts=5),
        ["ab r", "ab r", "ab s", "ab r"],
    ),
    (
        "retry fails after so many attempts",
        node("retry", plays("a", "f"), attempts=3),
        ["a r", "a r", "a f", "a r"],
    ),
    ("retry with one attempt is its node", node("retry", plays("a", "fs"), attempts=1), ["a f", "a s"]),
    (
        "a round of retry may take many ticks",
        node("retry", plays("a", "rfrs"), attempts=2),
        ["a r", "a r", "a r", "a s"],
    ),
    (
        "repeat_until success goes on through failures",
        node("repeat_until", plays("a", "frfs"), max=9, ends_in=S),
        ["a r", "a r", "a r", "a s"],
    ),
    (
        "repeat_until failure succeeds when its node fails",
        node("repeat_until", plays("a", "ssf"), max=9, ends_in=F),
        ["a r", "a r", "a s"],
    ),
    (
        "repeat_until fails when what it waits for never comes",
        node("repeat_until", plays("a", "s"), max=2, ends_in=F),
        ["a r", "a f", "a r", "a f"],
    ),
    (
        "repeat_until looks at its condition after each round, however its node ended",
        node("repeat_until", plays("a", "rfs"), max=9, fn="is", args={"name": "?", "answers": "fs"}),
        ["a r", "a? r", "a? s"],
    ),
    (
        "repeat_until fails when its condition never holds",
        node("repeat_until", plays("a", "s"), max=2, fn="is", args={"name": "?", "answers": "f"}),
        ["a? r", "a? f"],
    ),
]


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize(
    ("root", "expected"),
    [pytest.param(root, expected, id=what) for what, root, expected in COMPOSITES + DECORATORS + LOOPS],
)
@pytest.mark.parametrize("is_traced", [False, True], ids=["plain", "traced"])
def test_tick_by_tick(root: NodeSpec, expected: list[str], is_traced: bool) -> None:
    stage = Stage()
    assert stage.ticked(stage.tree(root, is_traced=is_traced), len(expected)) == expected


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize(
    ("succeed_when", "answers", "expected"),
    [
        (None, "sss", "abc s"),
        ("all", "ssf", "abc f"),
        ("all", "fss", "a f"),
        ("one", "sff", "a s"),
        ("one", "ffs", "abc s"),
        ("one", "fff", "abc f"),
        (1, "fsf", "ab s"),
        (2, "sfs", "abc s"),
        (2, "ffs", "ab f"),
        (2, "frs", "abc r"),
        (2, "srr", "abc r"),
        (3, "ssr", "abc r"),
        (3, "srf", "abc f"),
        (4, "sss", "f"),
    ],
)
def test_a_parallel_needs_so_many_successes(succeed_when: object, answers: str, expected: str) -> None:
    stage = Stage()
    children = [plays(name, answer) for name, answer in zip("abc", answers, strict=True)]
    assert stage.ticked(stage.tree(node("parallel", *children, succeed_when=succeed_when)), 1) == [expected]


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize(
    ("items", "most", "answers", "expected"),
    [
        ([1, 2, 3], 9, "s", ["a r", "a r", "a s"]),
        ([1, 2, 3], 2, "s", ["a r", "a s"]),
        ([1, 2, 3], 9, "sf", ["a r", "a f"]),
        ([1, 2], 9, "rsrs", ["a r", "a r", "a r", "a s"]),
        ([], 9, "s", ["s"]),
        ("text", 9, "s", ["f"]),
        (None, 9, "s", ["f"]),
    ],
)
def test_for_each_runs_its_node_for_each_item(
    items: object, most: int, answers: str, expected: list[str]
) -> None:
    stage = Stage()
    root = node("for_each", plays("a", answers), items="items", item="item", max=most)
    tree = stage.tree(root, keys=[key("items", default=items), key("item")])
    assert stage.ticked(tree, len(expected)) == expected


def test_for_each_sets_the_item_before_each_round_and_takes_the_list_as_it_was_at_first() -> None:
    stage = Stage()
    body = node("sequence", writes("items", []), looks("$item"))
    root = node("for_each", body, items="items", item="item", max=9)
    tree = stage.tree(root, keys=[key("items", default=["x", "y"]), key("item")])
    assert [letter[-1] for letter in stage.ticked(tree, 3)] == ["r", "s", "s"]
    assert stage.seen == ["x", "y"]


def test_for_each_sets_the_item_once_a_round() -> None:
    stage = Stage()
    body = node("sequence", looks("$item"), writes("item", "changed"), plays("a", "rs"), looks("$item"))
    root = node("for_each", body, items="items", item="item", max=9)
    tree = stage.tree(root, keys=[key("items", default=["x", "y"]), key("item")])
    assert stage.ticked(tree, 4) == ["[item]a r", "a r", "[item]a r", "a s"]
    assert stage.seen == ["x", "changed", "y", "changed"]


def test_for_each_fails_if_the_item_does_not_fit_its_key() -> None:
    stage = Stage()
    root = node("for_each", plays("a", "s"), items="items", item="item", max=9)
    tree = stage.tree(root, keys=[key("items", default=[1, "two", 3]), key("item", KeyType.INTEGER)])
    assert stage.ticked(tree, 3) == ["a r", "f", "a r"]
    assert "'two'" in tree.errors["for_each"]


def test_a_configured_count_stands_for_a_number() -> None:
    stage = Stage()
    tree = stage.tree(node("retry", plays("a", "f"), attempts="max_turns"), counts={"max_turns": 2})
    assert stage.ticked(tree, 2) == ["a r", "a f"]


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize(
    ("root", "path"),
    [
        (node("sequence", plays("a", "s"), plays("b", "r"), name="top"), ("top", "b")),
        (node("parallel", plays("a", "r"), plays("b", "s"), plays("c", "r"), name="top"), ("top", "a", "c")),
        (node("retry", plays("a", "f"), attempts=2, name="again"), ("again",)),
        (plays("a", "s"), ()),
    ],
)
def test_the_running_path_names_the_running_nodes(root: NodeSpec, path: tuple[str, ...]) -> None:
    stage = Stage()
    tree = stage.tree(root)
    tree.tick()
    assert tree.running_path == path
    tree.halt()
    assert tree.running_path == ()
    assert tree.status is None


def test_each_parallel_child_sees_what_was_there_before_and_not_what_the_others_write() -> None:
    stage = Stage()
    root = node(
        "parallel",
        node("sequence", writes("x", 1), looks("$x")),
        node("sequence", looks("$x"), writes("x", 2)),
    )
    tree = stage.tree(root, keys=[key("x", default=0)])
    tree.tick()
    assert stage.seen == [1, 0]
    assert tree.blackboard.get("x") == 2


def test_what_parallel_children_wrote_is_merged_in_their_order_not_that_of_their_ending() -> None:
    stage = Stage()
    root = node(
        "parallel",
        node("sequence", writes("x", "first"), plays("a", "s")),
        node("sequence", writes("x", "second"), writes("y", "failed"), plays("b", "f")),
        node("sequence", plays("c", "rs"), writes("z", "late")),
        succeed_when=2,
    )
    tree = stage.tree(root, keys=[key("x"), key("y"), key("z")])
    tree.tick()
    assert tree.blackboard.get("x") is None, "nothing is merged before it is over"
    tree.tick()
    assert tree.blackboard.snapshot() == {"x": "second", "y": "failed", "z": "late"}


def test_what_a_halted_child_of_a_parallel_wrote_is_gone() -> None:
    stage = Stage()
    root = node(
        "parallel",
        node("sequence", writes("x", "halted"), plays("a", "r")),
        node("sequence", plays("b", "rs"), writes("y", "ended")),
        succeed_when="one",
    )
    tree = stage.tree(root, keys=[key("x"), key("y")])
    tree.tick()
    tree.tick()
    assert tree.blackboard.snapshot() == {"x": None, "y": "ended"}
    tree.tick()
    used_bytes = tree.blackboard.used_bytes
    tree.halt()
    assert tree.blackboard.used_bytes < used_bytes
    assert tree.blackboard.snapshot() == {"x": None, "y": "ended"}


def test_the_keys_of_a_subtree_are_its_own_and_gone_afterwards() -> None:
    stage = Stage()
    inner = node("sequence", writes("mine", 1), writes("outer", 2), plays("a", "rs"))
    tree = stage.tree(node("subtree", inner, blackboard={"mine": "integer"}), keys=[key("outer")])
    empty_bytes = tree.blackboard.used_bytes
    tree.tick()
    assert not tree.blackboard.declares("mine")
    assert tree.blackboard.used_bytes != empty_bytes
    tree.tick()
    assert tree.blackboard.snapshot() == {"outer": 2}


@pytest.mark.guarantee("E2")
@pytest.mark.parametrize("answers", ["rs", "rf", "r"])
def test_a_subtree_gives_back_the_room_that_its_keys_took(answers: str) -> None:
    stage = Stage()
    inner = node("sequence", writes("mine", "a" * 1_000), plays("a", answers))
    tree = stage.tree(node("subtree", inner, blackboard={"mine": "string"}))
    empty_bytes = tree.blackboard.used_bytes
    tree.tick()
    assert tree.blackboard.used_bytes > empty_bytes + 900
    tree.tick()
    tree.halt()
    assert tree.blackboard.used_bytes == empty_bytes


def test_a_halted_subtree_begins_with_its_keys_as_they_were_at_first() -> None:
    stage = Stage()
    inner = node("sequence", looks("$mine"), writes("mine", 1), looks("$mine"), plays("a", "r"))
    subtree = node("subtree", inner, blackboard={"mine": {"type": "integer", "default": 0}})
    tree = stage.tree(node("guard", subtree, fn="is", args={"name": "?", "answers": "sfs"}))
    assert stage.ticked(tree, 3) == ["?[mine]a r", "? f", "?[mine]a r"]
    assert stage.seen == [0, 1, 0, 1]
