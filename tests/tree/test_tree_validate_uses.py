"""What a tree uses must be there: registered leaves and what they take, keys, expressions, tools."""

from typing import Any

import pytest
from spec_words import check, node, ref, tree
from validate_words import TIDY, said

from endstop.tree.spec import KeySpec, KeyType, NodeSpec


@pytest.mark.guarantee("E3", "E4")
@pytest.mark.parametrize(
    ("root", "problem"),
    [
        (
            node("condition", fn="budget.is_ovr"),
            "Nothing is registered as a condition under 'budget.is_ovr'. Perhaps 'budget.is_over' was meant.",
        ),
        (node("action", fn="q"), "Nothing is registered as an action under 'q'. Register it for trees."),
        (
            node("action", fn="os.system"),
            "under 'os.system'. Name one that is registered for trees, never a path to import.",
        ),
        (
            node("action", fn="endstop.turn.take"),
            "never a path to import. Perhaps 'turn.take' was meant.",
        ),
        (
            node("condition", name="late?", fn="turn.take"),
            "'turn.take' is an action, and the condition 'late?' takes a condition.",
        ),
        (node("action", name="go", fn="loop.is_stuck"), "a condition, and the action 'go' takes an action."),
        (node("guard", TIDY, fn="turn.take"), "is an action, and the guard 'guard' takes a condition."),
        (node("repeat_until", TIDY, max=2, fn="gone"), "Nothing is registered as a condition under 'gone'."),
    ],
)  # fmt: skip
def test_leaves_are_only_those_that_are_registered(root: NodeSpec, problem: str) -> None:
    (told,) = said(root)
    assert problem in told


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "'notes.write' needs the argument 'text'. Give it in args."),
        ({"text": "a", "tims": 3}, "'notes.write' takes no argument 'tims'. Perhaps 'times' was meant."),
        ({"text": "a", "qqq": 3}, "takes no argument 'qqq'. It takes: text, times,"),
        ({"text": 3}, "The argument 'text' of 'notes.write' is 3. It takes: str."),
        ({"text": None}, "is None. It takes: str."),
        ({"text": "a", "times": 1.5}, "It takes: int."),
        ({"text": "a", "times": True}, "It takes: int."),
        ({"text": "a", "share": "half"}, "It takes: float | None."),
        ({"text": "a", "share": True}, "It takes: float | None."),
        ({"text": "a", "is_loud": 1}, "It takes: bool."),
        ({"text": "a", "tags": "x"}, "It takes: list[str] | None."),
        ({"text": "a", "more": 3}, "Sequence[str]."),
        ({"text": "a", "options": []}, "It takes: dict[str, typing.Any] | None."),
        ({"text": "a", "mood": "glad"}, "It takes: Literal['calm', 'cross']."),
        ({"text": "$gone"}, "uses the key 'gone', which nobody declares."),
        ({"text": "a", "options": {"x": ["$gone"]}}, "uses the key 'gone', which nobody declares."),
    ],
)
def test_arguments_are_checked_against_what_the_leaf_takes(arguments: dict[str, Any], problem: str) -> None:
    (told,) = said(node("action", fn="notes.write", args=arguments))
    assert problem in told


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "a", "times": 3, "share": 1, "is_loud": True, "tags": ["x"], "more": ["x"], "mood": "cross"},
        {"text": "a", "share": None, "tags": None, "options": {"x": 1}, "thing": [1]},
        {"text": "$text", "times": "$turn", "tags": "$files", "is_loud": "$file"},
    ],
)
def test_fitting_arguments_are_no_problem(arguments: dict[str, Any]) -> None:
    assert said(node("action", fn="notes.write", args=arguments)) == []


def test_an_empty_table_has_no_arguments() -> None:
    assert said(node("action", fn="notes.write", args=[])) == [
        "'notes.write' needs the argument 'text'. Give it in args."
    ]


def test_a_leaf_that_takes_nothing_says_so() -> None:
    (told,) = said(node("action", fn="notes.list", args={"x": 1}))
    assert told == "'notes.list' takes no argument 'x'. It takes: none."


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({"what": 3, "times": 3, "text": None, "bare": 3}, 0),
        ({"times": "x"}, 1),
        ({"text": 3}, 1),
        ({"text": "x", "times": 2}, 0),
    ],
)
def test_annotations_out_of_reach_are_read_as_far_as_they_are_simple(
    arguments: dict[str, Any], problems: int
) -> None:
    assert len(said(node("action", fn="notes.strange", args=arguments))) == problems


@pytest.mark.guarantee("E3")
@pytest.mark.parametrize(
    ("root", "problem"),
    [
        (
            check("turn >"),
            "The expression is 'turn >'. Allowed: a key, a number, a text, true, false, nil or ("
            " at character 7, where the end stands.",
        ),
        (check("trun > 3"), "uses the key 'trun', which nobody declares. Perhaps 'turn' was meant."),
        (check("zzz"), "The condition 'condition' uses the key 'zzz', which nobody declares. Declare it in"),
        (node("guard", TIDY, expression="gone.type == 1"), "uses the key 'gone'"),
        (node("repeat_until", TIDY, max=2, expression="gone"), "uses the key 'gone'"),
        (node("for_each", TIDY, items="gone", item="file", max=2), "uses the key 'gone'"),
        (node("for_each", TIDY, items="files", item="gone", max=2), "uses the key 'gone'"),
        (
            node("for_each", TIDY, items="text", item="file", max=2),
            "uses the key 'text', which is declared as string. Declare it as any or list.",
        ),
        (node("llm_call", output="turn"), "declared as integer. Declare it as any or string."),
        (node("tool_call", tool="search", output="files"), "declared as list. Declare it as any or string."),
        (node("tool_call", tool="search", args={"a": "$gone"}), "uses the key 'gone'"),
        (
            node("llm_call", prompt="Say {gone}"),
            "nobody declares. Declare it in the blackboard of the tree, or write {{ for a brace.",
        ),
        (node("tool_call", tool="serch"), "The agent has no tool 'serch'. Perhaps 'search' was meant."),
        (node("tool_call", tool="qqq"), "The agent has no tool 'qqq'. It has: read, search."),
    ],
)  # fmt: skip
def test_what_a_node_uses_must_be_there(root: NodeSpec, problem: str) -> None:
    (told,) = said(root, tools=["search", "read"])
    assert problem in told


def test_without_any_tools_it_says_so() -> None:
    assert said(node("tool_call", tool="x"), tools=[]) == ["The agent has no tool 'x'. It has: none."]


def test_tools_are_not_judged_while_nobody_knows_them() -> None:
    assert said(node("tool_call", tool="whatever")) == []


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ((KeySpec(name="a"), KeySpec(name="a", line=4)), "The key 'a' is declared twice. Leave one out."),
        ((KeySpec(name="a", type=KeyType.INTEGER, default="x"),), "of the key 'a' is 'x'. Use a whole"),
        ((KeySpec(name="a", type=KeyType.INTEGER, default=True),), "The default of the key 'a' is True."),
        ((KeySpec(name="a", type=KeyType.STRING, default=[]),), "The default of the key 'a' is []. Use text"),
        ((KeySpec(name="a b"),), "'a b' cannot be the name of a key. Use a letter or _, then"),
        ((KeySpec(name=""),), "'' cannot be the name of a key."),
        ((KeySpec(name="and"),), "'and' cannot be the name of a key."),
        ((KeySpec(name="a" * 101),), "cannot be the name of a key."),
        (
            (KeySpec(name="notes", type=KeyType.STRING),),
            "writes list to the key 'notes', which holds string. Declare it as list, or not at all.",
        ),
    ],
)  # fmt: skip
def test_declared_keys_are_checked(keys: tuple[KeySpec, ...], problem: str) -> None:
    (told,) = said(TIDY, keys=keys)
    assert problem in told


@pytest.mark.parametrize(
    ("blackboard", "problem"),
    [
        ({"a": "strng"}, "The type of the key 'a' is 'strng'. Use one of string, integer, number,"),
        ({"a": {"type": 3}}, "The type of the key 'a' is 3."),
        (
            {"a": {"type": "list", "defualt": []}},
            "The key 'a' has an entry 'defualt'. Perhaps 'default' was meant.",
        ),
        ({"a": {"zzz": []}}, "The key 'a' has an entry 'zzz'. Allowed: type, default, doc."),
        ({"a": {"type": "list", "default": 3}}, "The default of the key 'a' is 3. Use a list"),
        ({"a b": "list"}, "'a b' cannot be the name of a key."),
    ],
)
def test_keys_of_a_subtree_are_checked(blackboard: dict[str, Any], problem: str) -> None:
    (told,) = said(node("subtree", TIDY, blackboard=blackboard))
    assert problem in told


@pytest.mark.parametrize(
    ("declared", "is_fine"),
    [(KeyType.INTEGER, True), (KeyType.NUMBER, True), (KeyType.ANY, True), (KeyType.STRING, False)],
)
def test_a_declared_type_must_agree_with_what_a_leaf_writes(declared: KeyType, *, is_fine: bool) -> None:
    told = said(node("action", fn="turn.take"), keys=(KeySpec(name="count", type=declared),))
    assert (told == []) is is_fine


def test_a_key_of_a_subtree_is_seen_inside_and_not_outside() -> None:
    inside = node("subtree", check("own == 1"), blackboard={"own": "integer"})
    assert said(inside) == []
    assert len(said(node("sequence", inside, check("own == 1")))) == 1


def test_a_key_of_a_subtree_hides_the_one_outside() -> None:
    ask = node("llm_call", output="turn")
    assert said(node("subtree", ask, blackboard={"turn": "string"})) == []
    assert len(said(node("subtree", node("llm_call", output="text"), blackboard={"text": "list"}))) == 1


def test_the_keys_of_a_tree_are_seen_in_those_it_refers_to_but_not_the_other_way() -> None:
    part = tree("part", check("turn == own"), keys=(KeySpec(name="own"),))
    assert said(ref("part"), part) == []
    (told,) = said(node("sequence", ref("part"), check("own")), part)
    assert "uses the key 'own'" in told


def test_keys_come_through_every_tree_and_subtree_on_the_way() -> None:
    middle = tree(
        "middle", node("subtree", ref("last"), blackboard={"mine": "list"}), keys=(KeySpec(name="m"),)
    )
    last = tree("last", check("turn and m and mine"))
    assert said(ref("middle"), last, middle) == []
    (told,) = said(
        node("sequence", ref("last"), ref("last")), last, keys=(KeySpec(name="turn"), KeySpec(name="m"))
    )
    assert "uses the key 'mine'" in told


def test_a_type_on_any_way_to_a_tree_is_enough() -> None:
    part = tree("part", node("llm_call", output="spot"))
    as_text = node("subtree", ref("part"), blackboard={"spot": "string"})
    as_list = node("subtree", ref("part"), blackboard={"spot": "list"})
    assert said(node("sequence", as_text, as_list), part) == []
    assert len(said(as_list, part)) == 1


def test_a_type_declared_by_the_tree_that_refers_binds_the_leaves_below() -> None:
    part = tree("part", TIDY)
    assert len(said(ref("part"), part, keys=(KeySpec(name="notes", type=KeyType.STRING),))) == 1
