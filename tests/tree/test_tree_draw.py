"""Drawings of trees: as text, as Graphviz, with one numbering for both and for the engine."""

import re
import time
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_words import check, doubling, nested, node, ref, shared, tree
from tree_stage import StageServices

from endstop.tree.draw import SIGNS, draw_dot, draw_text, expanded
from endstop.tree.engine import Tree
from endstop.tree.kinds import KINDS
from endstop.tree.leaves import LeafContext, Leaves
from endstop.tree.references import MOST_LEVELS, MOST_NODES
from endstop.tree.spec import KeySpec, NodeSpec
from endstop.tree.status import RunStatus

TURN = tree("turn", node("sequence", node("llm_call", name="ask", output="text"), check("text ~= nil")))
MAIN = tree(
    "main",
    node(
        "selector",
        node("guard", node("retry", ref("turn"), name="again", attempts=3), fn="budget.is_fine"),
        node("tool_call", name="look", tool="search", args={"query": "$text", "most": 3}),
        node("inverter", ref("turn")),
        name="all",
    ),
    TURN,
)


@pytest.mark.guarantee("E6")
def test_a_tree_is_drawn_as_text_with_references_in_place() -> None:
    assert draw_text(MAIN) == (
        "main\n"
        "└─ ? selector all\n"
        "   ├─ ◇ guard  (fn=budget.is_fine)\n"
        "   │  └─ ↺ retry again  (attempts=3)\n"
        "   │     └─ ↳ subtree_ref turn\n"
        "   │        └─ → sequence\n"
        "   │           ├─ ✎ llm_call ask  (output=text)\n"
        "   │           └─ = condition  (expression=text ~= nil)\n"
        "   ├─ ⚒ tool_call look  (tool=search, args={query, most})\n"
        "   └─ ¬ inverter\n"
        "      └─ ↳ subtree_ref turn\n"
        "         └─ → sequence\n"
        "            ├─ ✎ llm_call ask  (output=text)\n"
        "            └─ = condition  (expression=text ~= nil)"
    )


@pytest.mark.guarantee("E6")
def test_the_status_of_each_node_stands_beside_it() -> None:
    statuses = {0: RunStatus.RUNNING, 4: RunStatus.SUCCESS, 10: RunStatus.FAILURE, 99: RunStatus.SUCCESS}
    lines = draw_text(MAIN, statuses=statuses).splitlines()
    assert {n - 1: line.rpartition("[")[2] for n, line in enumerate(lines) if line.endswith("]")} == {
        0: "running]",
        4: "success]",
        10: "failure]",
    }


def test_nodes_are_numbered_as_they_are_met_and_a_reference_has_its_root_below_it() -> None:
    assert [(at.index, at.depth, at.path, at.file) for at in expanded(MAIN)][:5] == [
        (0, 0, "all", "main.lua"),
        (1, 1, "all/guard", "main.lua"),
        (2, 2, "all/guard/again", "main.lua"),
        (3, 3, "all/guard/again/turn", "main.lua"),
        (4, 4, "all/guard/again/turn/sequence", "turn.lua"),
    ]
    assert [at.node.kind for at in expanded(MAIN)][4:] == [
        "sequence",
        "llm_call",
        "condition",
        "tool_call",
        "inverter",
        "subtree_ref",
        "sequence",
        "llm_call",
        "condition",
    ]


async def test_the_engine_numbers_its_nodes_the_same_way() -> None:
    leaves = Leaves()

    @leaves.condition("budget.is_fine")
    def _(leaf: LeafContext) -> bool:  # pyright: ignore[reportUnusedFunction] - named in the tree
        return True

    whole = replace(MAIN, keys=(KeySpec(name="text"),))
    built = Tree(whole, leaves=leaves, services=StageServices(), counts={})
    assert [(one.index, one.depth, one.path, one.kind) for one in built.nodes] == [
        (at.index, at.depth, at.path, at.node.kind) for at in expanded(whole)
    ]


@pytest.mark.guarantee("E6")
def test_a_tree_is_drawn_for_graphviz_with_the_same_numbers() -> None:
    assert draw_dot(tree("pair", node("retry", ref("turn"), name="again", attempts=2), TURN)) == (
        'digraph "pair" {\n'
        "  node [fontname=sans-serif];\n"
        '  n0 [shape=hexagon, label="↺ retry again\\nattempts=2"];\n'
        '  n1 [shape=ellipse, label="↳ subtree_ref turn"];\n'
        "  n0 -> n1;\n"
        '  n2 [shape=box, label="→ sequence"];\n'
        "  n1 -> n2;\n"
        '  n3 [shape=ellipse, label="✎ llm_call ask\\noutput=text"];\n'
        "  n2 -> n3;\n"
        '  n4 [shape=ellipse, label="= condition\\nexpression=text ~= nil"];\n'
        "  n2 -> n4;\n"
        "}"
    )


def test_every_kind_has_a_sign_of_its_own() -> None:
    assert set(SIGNS) == set(KINDS)
    assert len(set(SIGNS.values())) == len(SIGNS)


def test_an_unknown_kind_is_drawn_as_such() -> None:
    strange = tree("strange", node("wait_forever"))
    assert draw_text(strange) == "strange\n└─ ✗ wait_forever"
    assert '[shape=plain, label="✗ wait_forever"]' in draw_dot(strange)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "true"),
        (False, "false"),
        (0.5, "0.5"),
        ([1, 2], "[…]"),
        ({"a": [], "b": {}}, "{a, b}"),
        ("x" * 80, "x" * 60 + "…"),
        ("two\nlines\tand\x1b[31m", "two lines and\ufffd[31m"),
        ("lone \ud800", "lone \ufffd"),
        (10**5000, "a int that cannot be shown"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_drawn_short_and_harmless(value: Any, shown: str) -> None:
    assert draw_text(tree("one", node("action", fn=value))) == f"one\n└─ ! action  (fn={shown})"


def test_what_says_nothing_new_is_not_drawn() -> None:
    plain = tree("one", node("action", name="notes.write", fn="notes.write", args={}, more=[]))
    assert draw_text(plain) == "one\n└─ ! action notes.write"


def test_nothing_escapes_from_a_label_of_graphviz() -> None:
    nasty = tree('na"me\\', node("action", name='"]; system("x") \\', fn="\\N\\\n"))
    first, _, label, end = draw_dot(nasty).splitlines()
    assert first == 'digraph "na\\"me\\\\" {'
    assert label == '  n0 [shape=ellipse, label="! action \\"]; system(\\"x\\") \\\\\\nfn=\\\\N\\\\ "];'
    assert end == "}"


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_whatever_the_names_each_node_takes_one_line(name: str, kind: str, value: str) -> None:
    strange = tree(name, NodeSpec(kind=kind, name=value, parameters={name: value}, children=(check(),)))
    assert len(draw_text(strange).splitlines()) == 3
    lines = draw_dot(strange).splitlines()
    assert len(lines) == 6
    quoted = re.compile(r'  n0 \[shape=\w+, label="(?:[^"\\]|\\["\\n])*"\];')
    assert quoted.fullmatch(lines[2])


def test_circles_and_missing_trees_are_not_followed() -> None:
    a, b = tree("a", ref("b")), tree("b", node("sequence", ref("a"), ref("gone")))
    assert [at.path for at in expanded(tree("main", ref("a"), a, b))] == [
        "a",
        "a/b",
        "a/b/sequence",
        "a/b/sequence/a",
        "a/b/sequence/gone",
    ]


@pytest.mark.parametrize(
    "hostile",
    [
        tree("wide", node("sequence", *[check()] * 10_000)),
        tree("deep", nested(10_000)),
        tree("shared", shared(50)),
        tree("main", ref("t0"), *doubling(25).values()),
    ],
    ids=lambda hostile: hostile.name,
)
def test_a_hostile_tree_is_drawn_as_far_as_one_can_look_at_it(hostile: Any) -> None:
    begun = time.perf_counter()
    lines = draw_text(hostile).splitlines()
    dot = draw_dot(hostile)
    assert time.perf_counter() - begun < 10
    assert len(lines) <= MOST_NODES + 2
    assert dot.count("label=") <= MOST_NODES
    assert (lines[-1] == "…") is (hostile.name != "deep")
    assert max(at.depth for at in islice(expanded(hostile), 3_000)) < MOST_LEVELS


def test_a_tree_of_the_most_nodes_is_drawn_whole() -> None:
    lines = draw_text(tree("wide", node("sequence", *[check()] * (MOST_NODES - 1)))).splitlines()
    assert len(lines) == MOST_NODES + 1
    assert lines[-1].startswith("   └─ ")
