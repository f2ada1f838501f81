"""What is wrong with a tree file is told all at once, each thing with its line."""

from __future__ import annotations

import pytest

from endstop.errors import TreeError
from endstop.tree.lua import read_tree
from endstop.tree.lua.sandbox import LIMITS


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(TreeError) as caught:
        read_tree(text, file="t.lua")
    return caught.value.problems


def problem(root: str, *, more: str = "") -> str:
    (one,) = problems(f'return BT.tree("t", {{\nroot = {root}, {more} }})')
    return one


@pytest.mark.guarantee("E3")
def test_all_problems_are_told_at_once_in_the_order_of_their_lines() -> None:
    text = """
    local a = BT.action("a.b", { argz = {} })
    return BT.tree("t", {
        blackboard = { k = "strng" },
        root = BT.sequnce{
            a,
            BT.retry("again", { attempts = 3 }),
            misspelt,
            BT.action("c.d", { a }),
        },
    })
    """
    assert problems(text) == (
        "t.lua:2: BT.action takes no 'argz'. Perhaps 'args' was meant.",
        "t.lua:3: The key 'k' is of type 'strng', which there is not. Perhaps 'string' was meant.",
        "t.lua:5: There is no BT.sequnce. Perhaps 'sequence' was meant.",
        "t.lua:5: Child 3 of this sequnce is nil, not a node. Check the spelling of what stands there.",
        "t.lua:7: There is no node in retry 'again'. Put one into it: BT.retry{ … }.",
        "t.lua:8: There is no 'misspelt'. Check its spelling, or make it before this line.",
        "t.lua:9: Action 'c.d' takes no nodes, and has 1. Put them beside it.",
    )


def test_the_error_names_the_tree() -> None:
    with pytest.raises(TreeError, match=r"The tree 'agent' cannot be used \(1 problem\)"):
        read_tree('BT.tree("agent", {})', file="other.lua")
    with pytest.raises(TreeError, match="The tree 'other' cannot be used"):
        read_tree("", file="other.lua")


@pytest.mark.parametrize(
    ("root", "told"),
    [
        ("BT.sequence{}", "There is no node in this sequence. Put one into it: BT.sequence{ … }."),
        (
            'BT.inverter{ BT.action("a.b"), BT.action("a.b") }',
            "This inverter takes one node, and has 2. Put them into a sequence or selector.",
        ),
        (
            'BT.inverter{ name = 3, BT.action("a.b") }',
            "The name of BT.inverter is not a text. Give it a name in quotation marks.",
        ),
        (
            'BT.inverter{ times = 3, BT.action("a.b") }',
            "BT.inverter takes no 'times'. It takes nodes and a name, and nothing else.",
        ),
        (
            'BT.retry{ zzz = 3, BT.action("a.b") }',
            "BT.retry takes no 'zzz'. It takes attempts.",
        ),
        (
            'BT.sequence{ "a.b" }',
            "Child 1 of this sequence is the text 'a.b', not a node. "
            "A text stands before the table: BT.kind(text, { … }).",
        ),
        (
            "BT.sequence{ BT.action }",
            "Child 1 of this sequence is a function, not a node. Check the spelling of what stands there.",
        ),
        (
            'BT.sequence{ BT.tree("other", { root = BT.llm_call() }) }',
            "Child 1 of this sequence is a tree, not a node. "
            "Write one tree per file, and name the other: BT.subtree_ref(name).",
        ),
        (
            'BT.sequence(BT.action("a.b"), BT.action("a.b"))',
            'BT.sequence is given (table, table). Write BT.sequence("name", { … }), '
            "or leave out the name or the table.",
        ),
        (
            'BT.action("a.b", 3)',
            'BT.action is given (string, number). Write BT.action("name", { … }), '
            "or leave out the name or the table.",
        ),
        (
            "BT.llm_call(nil)",
            'BT.llm_call is given (nil). Write BT.llm_call("name", { … }), '
            "or leave out the name or the table.",
        ),
        (
            'BT.action("a.b", { args = { BT.llm_call() } })',
            "args of BT.action holds a node. Nodes go into the list, or under child or children.",
        ),
        (
            'BT.action("a.b", { args = { f = type } })',
            'args of BT.action holds a function. Name a registered function: fn = "name".',
        ),
        (
            'BT.action("a.b", { args = { 1, a = 2 } })',
            "args of BT.action is a list and has names as well. Make it one or the other.",
        ),
        (
            'BT.action("a.b", { args = { 1, nil, 3 } })',
            "args of BT.action is a list with a gap in it. Check the spelling of its items.",
        ),
        (
            'BT.action("a.b", { args = { [1.5] = 2 } })',
            "BT.action is given a table with a key that is neither text nor a place in a list. "
            "Use text, numbers, true, false, lists, and tables with names.",
        ),
        (
            'BT.action("a.b", { [true] = 2 })',
            "BT.action is given a table with a key that is neither text nor a place in a list. "
            "Use text, numbers, true, false, lists, and tables with names.",
        ),
        (
            'BT.action("a.b", { args = { x = -1 / 0 } })',
            "args of BT.action holds a number that is not finite. Use a finite number.",
        ),
    ],
)
def test_what_is_wrong_with_a_call_is_told_with_its_line(root: str, told: str) -> None:
    found = [
        one for one in problems(f'return BT.tree("t", {{\nroot = {root} }})') if "second tree" not in one
    ]
    assert found == [f"t.lua:2: {told}"]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('BT.tree("t", {})', "The tree has no root. Give it one: root = BT.sequence{ … }."),
        (
            'BT.tree("t", { root = 3 })',
            "The root is a number, not a node. Check the spelling of what stands there.",
        ),
        (
            'BT.tree("", { root = BT.llm_call() })',
            'The tree has no name. Write BT.tree("name", { root = … }).',
        ),
        (
            'BT.tree("t", { rot = 1, root = BT.llm_call() })',
            "BT.tree takes no 'rot'. Perhaps 'root' was meant.",
        ),
        (
            'BT.tree("t", { zzz = 1, root = BT.llm_call() })',
            "BT.tree takes no 'zzz'. It takes doc, blackboard, root.",
        ),
        (
            'BT.tree("t", { doc = 1, root = BT.llm_call() })',
            "The doc of the tree is not a text. Say in a sentence what the tree is for.",
        ),
        (
            'BT.tree("t", { blackboard = 1, root = BT.llm_call() })',
            'The blackboard is not a table with names. Write blackboard = { key = "string" }.',
        ),
        (
            'BT.tree("t", { blackboard = { k = { typ = "list" } }, root = BT.llm_call() })',
            "The key 'k' takes no 'typ'. Perhaps 'type' was meant.",
        ),
        (
            'BT.tree("t", { blackboard = { k = { type = { 1 } } }, root = BT.llm_call() })',
            "The key 'k' is of type [1], which there is not. "
            "Use one of string, integer, number, boolean, list, map, any.",
        ),
        (
            'BT.tree("t", { blackboard = { k = { doc = 1 } }, root = BT.llm_call() })',
            "The doc of the key 'k' is not a text. Say in a few words what it holds.",
        ),
        (
            'BT.tree("t", { [1] = "x", root = BT.llm_call() })',
            "BT.tree is given a table with a key that is neither text nor a place in a list. "
            "Use text, numbers, true, false, lists, and tables with names.",
        ),
    ],
)
def test_what_is_wrong_with_a_tree_is_told_with_its_line(written: str, told: str) -> None:
    assert problems(f"\n\nreturn {written}") == (f"t.lua:3: {told}",)


def test_a_tree_needs_a_name_and_a_table() -> None:
    assert (
        't.lua:1: BT.tree is not given a name and a table. Write BT.tree("name", { root = … }).'
        in problems("BT.tree{ root = BT.llm_call() }")
    )


def test_a_file_holds_one_tree() -> None:
    one = '{ root = BT.action("a.b") })'
    assert problems(f'BT.tree("a", {one}\nBT.tree("b", {one}') == (
        "t.lua:2: There is a second tree, 'b'. Write one tree per file.",
    )
    assert problems("local x = 1") == (
        't.lua: The file makes no tree. End it with return BT.tree("name", { root = … }).',
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\nlocal x = = 3", "t.lua:2: This is not Lua: unexpected symbol near '='."),
        (
            "\nlocal x = nil\nx.y = 3",
            "t.lua:3: The script failed here: attempt to index a nil value (local 'x').",
        ),
        ("\nerror('as I say')", "t.lua:2: The script failed here: as I say."),
        ("\nerror('as I say', 0)", "t.lua:2: The script failed here: as I say."),
        (
            "\n\nerror({})",
            "t.lua:3: The script ended itself with error(a table). "
            "Give error a text that says what is wrong.",
        ),
        ("\nassert(false)", "t.lua:2: The script failed here: assertion failed."),
        ("\nassert(nil, 'no luck')", "t.lua:2: The script failed here: no luck."),
        (
            "\nstring.upper({})",
            "t.lua:2: The script failed here: bad argument #1 to 'upper' (string expected, got table).",
        ),
        ("table.insert(nil, 1)", "t.lua:1: The script failed here: insert takes a table, not a nil."),
        ("table.insert({}, 9, 1)", "t.lua:1: The script failed here: insert takes a place within the table."),
        (
            "table.insert({})",
            "t.lua:1: The script failed here: insert takes a table, a place if you like, and a value.",
        ),
        ("table.remove({}, 9)", "t.lua:1: The script failed here: remove takes a place within the table."),
        (
            "table.concat({}, 1)",
            "t.lua:1: The script failed here: concat takes a table, a text, and whole numbers.",
        ),
        (
            "table.concat({ {} })",
            "t.lua:1: The script failed here: concat takes a table of texts, and one item is a table.",
        ),
        ("table.unpack({}, 1.5)", "t.lua:1: The script failed here: unpack takes a table and whole numbers."),
        ("string.rep(1, 2)", "t.lua:1: The script failed here: rep takes a text and a number."),
        ("pairs(nil)", "t.lua:1: The script failed here: pairs takes a table, not a nil."),
        (
            "pairs{ [true] = 1 }",
            "t.lua:1: The script failed here: pairs takes a table whose keys are numbers and texts.",
        ),
        (
            "next({ a = 1 }, 'a')",
            "t.lua:1: The script failed here: "
            "next only gives the first entry of a table here: use pairs, which goes in order.",
        ),
    ],
)
def test_an_error_of_lua_is_told_in_plain_words_with_its_line(text: str, told: str) -> None:
    assert problems(text) == (told,)


def test_what_was_wrong_before_an_error_is_told_as_well() -> None:
    assert problems("BT.sequnce{ BT.llm_call() }\nerror('here')") == (
        "t.lua:1: There is no BT.sequnce. Perhaps 'sequence' was meant.",
        "t.lua:2: The script failed here: here.",
    )


def test_a_name_that_is_not_there_is_told_once_and_with_the_one_that_was_meant() -> None:
    assert problems("local x = strng.upper('x')") == (
        "t.lua:1: There is no 'strng'. Perhaps 'string' was meant.",
    )


def test_a_kind_that_is_like_no_other_is_told_with_all_there_are() -> None:
    assert "There are sequence, selector, parallel" in problem("BT.xyzzy{}")


def test_a_file_that_is_too_long_is_not_run() -> None:
    assert problems("-" * (LIMITS.bytes + 1)) == (
        "t.lua: The file is larger than 100,000 bytes. "
        "Divide it into several files, and name the others with BT.subtree_ref.",
    )


def test_text_that_cannot_be_written_is_refused() -> None:
    assert problems("\ud800") == (
        "t.lua: The file is not text that can be written as UTF-8. Save it as UTF-8.",
    )
