"""Trees written in Lua: every form in which a node can be written, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from endstop.tree.kinds import KINDS, Group, Kind
from endstop.tree.lua import read_tree
from endstop.tree.spec import KeySpec, KeyType, NodeSpec, PlainValue, TreeSpec


def tree(root: str, *, before: str = "", more: str = "") -> TreeSpec:
    return read_tree(f'{before} return BT.tree("t", {{ root = {root}, {more} }})', file="t.lua")


def node(written: str, *, before: str = "") -> NodeSpec:
    return tree(written, before=before).root


def leaf(name: str) -> NodeSpec:
    return NodeSpec(kind="action", name=name, parameters={"fn": name}, line=1)


@pytest.mark.guarantee("E3")
def test_a_file_gives_the_plain_specification_of_its_tree() -> None:
    text = """
    local function step(name)
        return BT.action("steps." .. name)
    end

    return BT.tree("agent", {
        doc = "Asks until it knows.",
        blackboard = { question = "string", turn = { type = "integer", default = 0, doc = "Now" } },
        root = BT.sequence("all", {
            BT.condition{ expression = "turn > 3" },
            BT.retry("again", { attempts = 3, step("ask") }),
        }),
    })
    """
    assert read_tree(text, file="agent.lua") == TreeSpec(
        name="agent",
        doc="Asks until it knows.",
        file="agent.lua",
        keys=(
            KeySpec(name="question", type=KeyType.STRING, line=6),
            KeySpec(name="turn", type=KeyType.INTEGER, default=0, doc="Now", line=6),
        ),
        root=NodeSpec(
            kind="sequence",
            name="all",
            line=9,
            children=(
                NodeSpec(kind="condition", name="turn > 3", parameters={"expression": "turn > 3"}, line=10),
                NodeSpec(
                    kind="retry",
                    name="again",
                    parameters={"attempts": 3},
                    line=11,
                    children=(
                        NodeSpec(kind="action", name="steps.ask", parameters={"fn": "steps.ask"}, line=3),
                    ),
                ),
            ),
        ),
    )


def test_a_tree_need_not_be_returned() -> None:
    assert read_tree('BT.tree("t", { root = BT.action("a.b") })', file="t.lua").root == leaf("a.b")


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    assert read_tree('\ufeffBT.tree("t", { root = BT.action("a.b") })', file="t.lua").name == "t"


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_of_node_has_a_function(kind: Kind) -> None:
    inner = "" if kind.group is Group.LEAF else 'BT.action("a.b")'
    made = node(f"BT.{kind.name}{{ {inner} }}")
    assert (made.kind, len(made.children)) == (kind.name, 0 if kind.group is Group.LEAF else 1)


@pytest.mark.parametrize(
    "written",
    [
        'BT.sequence("both", { BT.action("a.b"), BT.action("c.d") })',
        'BT.sequence{ name = "both", BT.action("a.b"), BT.action("c.d") }',
        'BT.sequence("both", { children = { BT.action("a.b"), BT.action("c.d") } })',
        'BT.sequence("both", { BT.action("a.b"), child = BT.action("c.d") })',
        'BT.sequence("other", { name = "both", BT.action("a.b"), BT.action("c.d") })',
    ],
)
def test_nodes_and_names_can_be_given_in_several_forms(written: str) -> None:
    assert node(written) == NodeSpec(
        kind="sequence", name="both", children=(leaf("a.b"), leaf("c.d")), line=1
    )


@pytest.mark.parametrize(
    "written",
    [
        'BT.inverter{ BT.action("a.b") }',
        'BT.inverter(BT.action("a.b"))',
        'BT.inverter{ child = BT.action("a.b") }',
        'BT.inverter{ children = BT.action("a.b") }',
        'BT.inverter("inverter", BT.action("a.b"))',
    ],
)
def test_one_node_can_be_given_in_several_forms(written: str) -> None:
    assert node(written) == NodeSpec(kind="inverter", name="inverter", children=(leaf("a.b"),), line=1)


@pytest.mark.parametrize(
    ("written", "name", "parameters"),
    [
        ('BT.condition("over?", { fn = "a.b" })', "over?", {"fn": "a.b"}),
        ('BT.condition{ fn = "a.b" }', "a.b", {"fn": "a.b"}),
        ('BT.condition("a.b")', "a.b", {"fn": "a.b"}),
        ('BT.condition("a.b", { args = { n = 1 } })', "a.b", {"fn": "a.b", "args": {"n": 1}}),
        ('BT.condition("turn > 3")', "turn > 3", {"expression": "turn > 3"}),
        ('BT.condition("late", { expression = "turn > 3" })', "late", {"expression": "turn > 3"}),
        ('BT.action("log it", { fn = "a.b" })', "log it", {"fn": "a.b"}),
        ('BT.subtree_ref("agent-turn")', "agent-turn", {"tree": "agent-turn"}),
        ('BT.subtree_ref("turn", { tree = "agent-turn" })', "turn", {"tree": "agent-turn"}),
        ('BT.tool_call("search", { output = "found" })', "search", {"tool": "search", "output": "found"}),
        ('BT.tool_call{ tool = "search" }', "search", {"tool": "search"}),
        ('BT.llm_call("Think.")', "Think.", {"prompt": "Think."}),
        ('BT.llm_call("think", {})', "think", {"prompt": "think"}),
        ('BT.llm_call("think", { tools = false })', "think", {"tools": False}),
        ('BT.llm_call("think", { prompt = "Well?" })', "think", {"prompt": "Well?"}),
        ("BT.llm_call()", "llm_call", {}),
        ('BT.guard("cheap", { fn = "a.b", BT.llm_call{} })', "cheap", {"fn": "a.b"}),
    ],
)
def test_the_text_before_the_table_is_the_name_and_what_a_leaf_lacks(
    written: str, name: str, parameters: Mapping[str, PlainValue]
) -> None:
    made = node(written)
    assert (made.name, made.parameters) == (name, parameters)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"text"', "text"),
        (r'"\"quoted\"\n\0\127 é"', '"quoted"\n\0\x7f é'),
        ("3", 3),
        ("-9223372036854775807", -9223372036854775807),
        ("2.5", 2.5),
        ("6 / 2", 3),
        ("1e300", 1e300),
        ("0.1", 0.1),
        ("true", True),
        ("false", False),
        ("{ 1, { 2 }, { a = 3 } }", [1, [2], {"a": 3}]),
        ("{ b = 1, a = { d = 1, c = 2 } }", {"a": {"c": 2, "d": 1}, "b": 1}),
        ("{}", {}),
    ],
)
def test_values_come_out_as_they_were_written(written: str, value: PlainValue) -> None:
    given = node(f'BT.action("a.b", {{ args = {{ value = {written} }} }})').parameters["args"]
    assert isinstance(given, dict)
    assert given["value"] == value
    assert type(given["value"]) is type(value)


def test_names_are_in_order_whatever_the_order_of_lua_is() -> None:
    names = [f"name{number:02}" for number in range(30)]
    table = ", ".join(f"{name} = 1" for name in reversed(names))
    args = node(f'BT.action("a.b", {{ args = {{ inner = {{ {table} }} }} }})').parameters["args"]
    assert isinstance(args, dict)
    assert list(args["inner"]) == names  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("declared", "key"),
    [
        ('"string"', KeySpec(name="k", type=KeyType.STRING, line=1)),
        ("{}", KeySpec(name="k", line=1)),
        ('{ type = "list", default = {} }', KeySpec(name="k", type=KeyType.LIST, default=[], line=1)),
        ('{ type = "map", default = {} }', KeySpec(name="k", type=KeyType.MAP, default={}, line=1)),
        ('{ default = 3, doc = "Tries" }', KeySpec(name="k", default=3, doc="Tries", line=1)),
    ],
)
def test_keys_of_the_blackboard_are_declared_by_type_or_by_table(declared: str, key: KeySpec) -> None:
    assert tree('BT.action("a.b")', more=f"blackboard = {{ k = {declared} }}").keys == (key,)


def test_a_node_can_be_used_twice() -> None:
    assert node("BT.sequence{ one, one }", before='local one = BT.action("a.b")').children == (
        leaf("a.b"),
        leaf("a.b"),
    )


def test_loops_and_functions_can_build_nodes() -> None:
    text = """
    local steps = {}
    for _, name in ipairs{ "look", "think" } do
        table.insert(steps, BT.action("do." .. name))
    end
    return BT.tree("t", { root = BT.sequence(steps) })
    """
    assert [child.name for child in read_tree(text, file="t.lua").root.children] == ["do.look", "do.think"]


@pytest.mark.guarantee("E3")
def test_every_node_has_the_line_of_its_own_call() -> None:
    text = """local function one()
        return BT.action("one.x")
    end
    local function two()
        return BT.inverter{ one() }
    end
    local three = BT.action(
        "three.x"
    )
    local function four() local made = BT.action("four.x") return made end
    return BT.tree("t", {
        root = BT.sequence{
            one(), two(),
            three, BT.always_fail(four()),
            BT.retry{
                attempts = 2,
                BT.action("five.x"),
            },
        },
    })"""
    walked = [(one.name, one.line) for one in read_tree(text, file="t.lua").root.walk()]
    assert walked == [
        ("sequence", 12),
        ("one.x", 2),
        ("inverter", 5),
        ("one.x", 2),
        ("three.x", 7),
        ("always_fail", 14),
        ("four.x", 10),
        ("retry", 15),
        ("five.x", 17),
    ]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('("ab"):upper()', "AB"),
        ('string.lower("AB")', "ab"),
        ('("ab"):rep(2, "-")', "ab-ab"),
        ('("abc"):sub(2)', "bc"),
        ('("abc"):reverse()', "cba"),
        ('("a"):byte()', 97),
        ("string.char(97)", "a"),
        ('#"abc" + ("abc"):len()', 6),
        ('table.concat({ "a", 1 }, ",")', "a,1"),
        ('table.concat({ "a", "b", "c" }, "", 2, 3)', "bc"),
        ("select(2, table.unpack({ 7, 8, 9 }))", 8),
        ("table.unpack({ 7, 8, 9 }, 2, 2)", 8),
        ("table.pack(1, 2).n", 2),
        ("(function() local t = { 1, 2 } table.insert(t, 1, 0) return t end)()", [0, 1, 2]),
        ("(function() local t = { 1, 2 } table.remove(t) return t end)()", [1]),
        ("(function() local t = { 1, 2 } table.remove(t, 1) return t end)()", [2]),
        ("math.max(1, 3)", 3),
        ("math.floor(2.7)", 2),
        ('tonumber("12") + 1', 13),
        ("tostring(12)", "12"),
        ("tostring(nil)", "nil"),
        ("tostring({})", "table"),
        ("type(BT.action)", "function"),
        ("assert(5)", 5),
        ("select('#', assert(1, 2))", 2),
        ("next({}) == nil", True),
        ("next({ b = 1, a = 2 })", "a"),
    ],
)
def test_a_script_has_harmless_functions_of_lua(expression: str, value: PlainValue) -> None:
    args = node(f'BT.action("a.b", {{ args = {{ value = ({expression}) }} }})').parameters["args"]
    assert args == {"value": value}


def test_pairs_goes_in_the_order_of_the_keys() -> None:
    before = """
    local seen = {}
    for key, value in pairs{ z = 1, "one", a = 2, "two", m = 3, [10] = "ten", [2.5] = "half" } do
        seen[#seen + 1] = key .. "=" .. value
    end
    """
    args = node('BT.action("a.b", { args = { seen = seen } })', before=before).parameters["args"]
    assert args == {"seen": ["1=one", "2=two", "2.5=half", "10=ten", "a=2", "m=3", "z=1"]}


def test_the_same_text_gives_the_same_tree_each_time() -> None:
    names = ", ".join(f"n{number} = {number}" for number in range(50))
    text = f"""
    local steps = {{}}
    for name in pairs{{ {names} }} do
        steps[#steps + 1] = BT.action("do." .. name, {{ args = {{ {names} }} }})
    end
    return BT.tree("t", {{ blackboard = {{ c = "list", b = "map" }}, root = BT.sequence(steps) }})
    """
    assert len({repr(read_tree(text, file="t.lua")) for _ in range(5)}) == 1


def test_what_one_file_changes_the_next_does_not_see() -> None:
    text = 'string.upper = nil; shared = 1; BT.tree("t", { root = BT.action(("a.b"):lower()) })'
    assert read_tree(text, file="t.lua").root == leaf("a.b")
    assert node('BT.action(string.upper("a.b"))') == leaf("A.B")


def test_the_largest_tree_that_is_allowed_can_be_read() -> None:
    nodes = ",\n".join(f'BT.action("do.it{number}")' for number in range(1_999))
    assert len(tree(f"BT.sequence{{ {nodes} }}").root.children) == 1_999


def test_the_deepest_tree_that_is_allowed_can_be_read() -> None:
    before = 'local node = BT.action("a.b") for _ = 1, 59 do node = BT.inverter(node) end'
    assert len(list(node("node", before=before).walk())) == 60
