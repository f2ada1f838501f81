"""References between trees: followed once each, refused when they lead nowhere, in a circle, or too far."""

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_words import check, doubling, nested, node, nowhere, ref, shared, tree

from endstop.errors import TreeError
from endstop.tree.problems import Problem, refused
from endstop.tree.references import MOST_LEVELS, MOST_NODES, MOST_PROBLEMS, folded, resolved, size_problems
from endstop.tree.spec import NodeSpec, TreeSpec


def names_of(whole: TreeSpec) -> list[str]:
    return [one.name for one in whole.subtrees]


def test_a_tree_without_references_stays_as_it_is() -> None:
    lone = tree("lone", check())
    assert resolved(lone, nowhere) == (lone, ())


def test_the_whole_has_every_tree_once_in_the_order_in_which_a_reader_meets_them() -> None:
    trees = {
        "a": tree("a", node("sequence", ref("deep"), ref("b"))),
        "b": tree("b", ref("deep")),
        "c": tree("c", check()),
        "deep": tree("deep", check()),
    }
    main = tree("main", node("sequence", ref("a"), ref("c"), ref("b"), ref("a")))
    whole, problems = resolved(main, trees.get)
    assert names_of(whole) == ["a", "deep", "b", "c"]
    assert problems == ()
    assert whole.root is main.root


def test_each_tree_is_asked_for_once() -> None:
    asked: list[str] = []

    def find(name: str) -> TreeSpec | None:
        asked.append(name)
        return {"a": tree("a", node("sequence", ref("b"), ref("gone"))), "b": tree("b", check())}.get(name)

    resolved(tree("main", node("sequence", ref("a"), ref("b"), ref("gone"))), find)
    assert asked == ["a", "b", "gone"]


def test_subtrees_that_were_found_bring_none_of_their_own() -> None:
    inner = tree("inner", check())
    found = tree("outer", ref("inner"), inner)
    whole, _ = resolved(tree("main", ref("outer")), {"outer": found, "inner": inner}.get)
    assert [one.subtrees for one in whole.subtrees] == [(), ()]


@pytest.mark.guarantee("E3")
def test_a_tree_that_there_is_not_is_told_with_its_place_and_what_was_meant() -> None:
    outer = tree("outer", ref("agent-trun", line=7))
    _, problems = resolved(tree("main", ref("outer")), {"outer": outer}.get, names=["agent-turn", "outer"])
    assert problems == (
        Problem(
            file="outer.lua",
            line=7,
            what="There is no tree 'agent-trun'",
            to_do="Perhaps 'agent-turn' was meant",
        ),
    )


def test_without_a_likely_name_it_says_what_to_do() -> None:
    _, (problem,) = resolved(tree("main", ref("x")), nowhere)
    assert problem.to_do == "Name a tree that there is"


@pytest.mark.guarantee("E3")
@pytest.mark.parametrize(
    ("trees", "circle", "file"),
    [
        ({}, "main → main", "main.lua"),
        ({"a": ["main"]}, "main → a → main", "a.lua"),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, "b → c → b", "c.lua"),
    ],
)
def test_a_circle_is_named(trees: dict[str, list[str]], circle: str, file: str) -> None:
    found = {name: tree(name, ref(targets[0], line=4)) for name, targets in trees.items()}
    first = "a" if trees else "main"
    _, problems = resolved(tree("main", ref(first, line=4)), found.get)
    assert [(one.file, one.line) for one in problems] == [(file, 4)]
    assert problems[0].what.endswith(f"closes a circle: {circle}")


def test_all_problems_are_told_at_once() -> None:
    trees = {"a": tree("a", node("sequence", ref("main"), ref("gone"), ref("lost")))}
    _, problems = resolved(tree("main", ref("a")), trees.get)
    assert len(problems) == 3


def test_a_referred_tree_that_is_broken_is_a_problem_of_this_one() -> None:
    def find(name: str) -> TreeSpec | None:
        raise refused(name, [Problem(file="a.lua", line=3, what="Something is wrong", to_do="Mend it")])

    _, problems = resolved(tree("main", ref("a", line=9)), find)
    assert [str(one) for one in problems] == [
        "main.lua:9: The tree 'a' cannot be used. Mend it first.",
        "a.lua:3: Something is wrong. Mend it.",
    ]


def test_errors_that_are_not_about_trees_are_not_swallowed() -> None:
    def find(name: str) -> TreeSpec | None:
        raise PermissionError(name)

    with pytest.raises(PermissionError):
        resolved(tree("main", ref("a")), find)


def test_a_tree_under_another_name_is_refused() -> None:
    _, (problem,) = resolved(tree("main", ref("a")), lambda _: tree("b", check()))
    assert problem.what == "The tree 'a' calls itself 'b'"


def test_a_reference_that_names_nothing_is_left_to_the_other_checks() -> None:
    assert resolved(tree("main", node("subtree_ref", tree=["a"])), nowhere)[1] == ()
    assert resolved(tree("main", node("subtree_ref")), nowhere)[1] == ()


def test_there_is_an_end_to_the_problems_that_are_told() -> None:
    lost = tree("main", node("sequence", *(ref(f"t{n}") for n in range(MOST_PROBLEMS + 50))))
    assert len(resolved(lost, nowhere)[1]) == MOST_PROBLEMS


@pytest.mark.guarantee("E3", "A13")
def test_a_bomb_of_references_is_refused_in_milliseconds() -> None:
    trees = doubling(29)
    begun = time.perf_counter()
    _, problems = resolved(tree("main", ref("t0")), trees.get)
    assert time.perf_counter() - begun < 1
    assert [one.what for one in problems] == [
        "With the trees it refers to, 'main' has more than 1,000,000,000 nodes; 2,000 are allowed"
    ]


def test_an_endless_row_of_references_is_followed_only_so_far() -> None:
    read: list[str] = []

    def find(name: str) -> TreeSpec | None:
        read.append(name)
        return tree(name, ref(name + "x"))

    _, problems = resolved(tree("main", ref("x")), find)
    assert len(read) == MOST_LEVELS
    assert [one.what for one in problems] == [
        "References lead too far to be followed",
        "With the trees it refers to, 'main' has 61 levels; 60 are allowed",
    ]


def test_an_endless_number_of_trees_is_followed_only_so_far() -> None:
    read: list[str] = []

    def find(name: str) -> TreeSpec | None:
        read.append(name)
        return tree(name, check())

    many = [ref(f"t{n}") for n in range(MOST_NODES + 5)]
    _, problems = resolved(tree("main", node("sequence", *many)), find)
    assert len(read) == MOST_NODES
    assert "References lead too far to be followed" in {one.what for one in problems}


@pytest.mark.parametrize(
    ("root", "fits"),
    [
        (node("sequence", *[check()] * (MOST_NODES - 1)), True),
        (node("sequence", *[check()] * MOST_NODES), False),
        (nested(MOST_LEVELS), True),
        (nested(MOST_LEVELS + 1), False),
        (nested(20_000), False),
        (shared(50), False),
    ],
    ids=[
        "most nodes",
        "one more",
        "most levels",
        "one more level",
        "very deep",
        "the same node over and over",
    ],
)
def test_the_size_of_a_tree_is_bounded(root: NodeSpec, *, fits: bool) -> None:
    lone = tree("lone", root)
    assert (size_problems(lone) == ()) is fits
    assert (resolved(lone, nowhere)[1] == ()) is fits


def test_what_is_referred_to_counts_for_the_size() -> None:
    part = tree("part", nested(MOST_LEVELS - 2))
    assert resolved(tree("main", node("inverter", ref("part"))), {"part": part}.get)[1] == ()
    _, (problem,) = resolved(
        tree("main", node("inverter", node("inverter", ref("part")))), {"part": part}.get
    )
    assert problem.what == "With the trees it refers to, 'main' has 61 levels; 60 are allowed"
    assert problem.file == "main.lua"


def written_out(whole: TreeSpec, root: NodeSpec) -> int:
    """The size, reckoned in the slow way."""
    if root.kind == "subtree_ref":
        target = whole.subtree(str(root.parameters["tree"]))
        return 1 + (0 if target is None else written_out(whole, target.root))
    return 1 + sum(written_out(whole, child) for child in root.children)


@given(st.lists(st.lists(st.integers(1, 3), max_size=3), min_size=1, max_size=8))
def test_folding_agrees_with_writing_out(steps: Sequence[Sequence[int]]) -> None:
    trees = {
        f"t{n}": tree(f"t{n}", node("sequence", check(), *(ref(f"t{n + step}") for step in targets)))
        for n, targets in enumerate(steps)
    }
    whole, _ = resolved(trees["t0"], trees.get)
    counted = folded(whole, lambda _, below: 1 + sum(below), nothing=0)
    assert counted == written_out(whole, whole.root)


def test_folding_a_circle_comes_to_an_end() -> None:
    a = tree("a", node("sequence", ref("b"), check()))
    b = tree("b", ref("a"))
    circle = tree("main", ref("a"), a, b)
    assert folded(circle, lambda _, below: 1 + sum(below), nothing=0) == 5


def test_the_error_of_a_tree_has_all_problems() -> None:
    _, problems = resolved(tree("main", node("sequence", ref("a", line=1), ref("b", line=2))), nowhere)
    error = refused("main", problems)
    assert isinstance(error, TreeError)
    assert len(error.problems) == 2
