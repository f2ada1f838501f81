"""What is wrong with a tree: found before it runs, all at once, with file and line and what to do."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_words import check, doubling, nested, node, nowhere, ref, shared, tree
from tree_stage import StageServices
from validate_words import KEYS, LEAVES, TIDY, said

from endstop.errors import TreeError
from endstop.tree.bounds import GREATEST_COUNTS
from endstop.tree.draw import expanded
from endstop.tree.engine import Tree
from endstop.tree.kinds import KINDS
from endstop.tree.references import MOST_PROBLEMS
from endstop.tree.spec import KeySpec, NodeSpec, TreeSpec
from endstop.tree.validate import checked, problems_of

GOOD = [
    node("sequence", check("turn > 3 and signal.type == 'done'"), TIDY),
    node("selector", TIDY),
    node("parallel", TIDY, TIDY, succeed_when="all"),
    node("parallel", TIDY, TIDY, succeed_when="one"),
    node("parallel", TIDY, TIDY, succeed_when=2),
    node("parallel", TIDY),
    node("reactive_sequence", check(), TIDY),
    node("reactive_selector", check(), TIDY),
    node("retry", TIDY, attempts=3),
    node("retry", TIDY, attempts="max_turns"),
    node("repeat_until", TIDY, max=10_000, ends_in="failure"),
    node("repeat_until", TIDY, max=1, fn="budget.is_over", args={"part": 1}),
    node("repeat_until", TIDY, max="max_parallel_tools", expression="#files == 0"),
    node("timeout", TIDY, seconds=0.5),
    node("guard", TIDY, fn="budget.is_over", args=[]),
    node("guard", TIDY, expression="turn < 3"),
    node("inverter", TIDY),
    node("always_succeed", TIDY),
    node("always_fail", TIDY),
    node("cooldown", TIDY, seconds=86_400),
    node("budget", TIDY, turns=3, tokens=10**6, cost_usd="0.50", seconds=3, tool_calls="max_turns"),
    node("budget", TIDY, cost_usd=0.5),
    node("for_each", TIDY, items="files", item="file", max=20),
    node("for_each", TIDY, items="file", item="turn", max=20),
    node(
        "subtree", check("own == 3"), blackboard={"own": "integer", "other": {"type": "list", "default": [1]}}
    ),
    node("subtree", TIDY, blackboard={"own": {"doc": "anything"}}),
    node("subtree", TIDY, blackboard=[]),
    node("subtree", TIDY),
    node("condition", fn="loop.is_stuck"),
    node("action", fn="turn.take"),
    node("llm_call", prompt='Say {text}, {{turn}} and { "x": 1 } {', tools=False, output="text"),
    node("llm_call", prompt="", output="file"),
    node(
        "tool_call",
        tool="search",
        args={"query": "$text", "deep": [{"x": "$turn", "y": "$ 5"}]},
        output="file",
    ),
    node("subtree_ref", tree="part"),
    node("sequence", node("action", fn="turn.take"), check("reply ~= nil")),
]


@pytest.mark.parametrize("root", GOOD, ids=lambda root: root.kind)
def test_a_good_tree_has_no_problems(root: NodeSpec) -> None:
    assert said(root, tree("part", TIDY), tools=["search"]) == []


@pytest.mark.parametrize("root", GOOD, ids=lambda root: root.kind)
async def test_a_good_tree_can_be_built(root: NodeSpec) -> None:
    part = tree("part", TIDY)
    whole = checked(tree("main", root, keys=KEYS), {"part": part}.get, leaves=LEAVES, tools=["search"])
    built = Tree(whole, leaves=LEAVES, services=StageServices(), counts=GREATEST_COUNTS)
    assert len(built.nodes) == len(list(expanded(whole)))


def test_there_is_a_good_tree_of_every_kind() -> None:
    assert {one.kind for root in GOOD for one in root.walk()} == set(KINDS)


@pytest.mark.guarantee("E3")
@pytest.mark.parametrize(
    ("root", "problem"),
    [
        (node("sequnce", TIDY), "There is no kind of node 'sequnce'. Perhaps 'sequence' was meant."),
        (node("zzz"), "There is no kind of node 'zzz'. Use one of sequence, selector, parallel"),
        (
            node("sequence", TIDY, name=" "),
            "The name of a sequence is ' '. Give it a name of 1 to 100 characters.",
        ),
        (node("sequence", TIDY, name="x" * 101), "The name of a sequence is 'xxx"),
        (node("sequence"), "The sequence 'sequence' has no node below it. Give it one."),
        (node("inverter"), "The inverter 'inverter' has no node below it. Give it one."),
        (node("inverter", TIDY, TIDY), "has 2 nodes below it, and takes one. Put them into a sequence."),
        (node("action", TIDY, fn="notes.list"), "has 1 nodes below it, and takes none. Leave them out."),
        (node("retry", TIDY, atempts=3, attempts=3), "takes no 'atempts'. Perhaps 'attempts' was meant."),
        (node("retry", TIDY, zzz=3, attempts=3), "takes no 'zzz'. It takes: attempts."),
        (node("inverter", TIDY, zzz=3), "takes no 'zzz'. It takes: nothing."),
        (node("retry", TIDY), "The retry 'retry' needs attempts. Say how often at most."),
        (node("condition"), "needs one of fn, expression, and has none. Give one."),
        (
            node("condition", fn="loop.is_stuck", expression="true"),
            "needs one of fn, expression, and has fn and expression. Give one.",
        ),
        (node("repeat_until", TIDY, max=3), "needs one of ends_in, fn, expression, and has none."),
        (
            node("budget", TIDY),
            "limits nothing. Give at least one of turns, tokens, cost_usd, seconds, tool_calls.",
        ),
        (node("guard", TIDY, expression="true", args={"a": 1}), "has args, but no fn that takes them."),
    ],
)
def test_what_a_node_lacks_or_has_too_much_is_told(root: NodeSpec, problem: str) -> None:
    (told,) = said(root)
    assert problem in told


@pytest.mark.guarantee("E3", "A13")
@pytest.mark.parametrize(
    ("root", "problem"),
    [
        *[
            (
                node("retry", TIDY, attempts=wrong),
                "Allowed: a whole number from 1 to 10,000, or one of max_turns, max_tool_calls_per_turn,",
            )
            for wrong in (0, -1, 10_001, 1.0, True, None, [1], {"x": 1}, "for ever", float("inf"))
        ],
        (
            node("retry", TIDY, attempts="max_turn"),
            "'attempts' of the retry 'retry' is 'max_turn'. Perhaps 'max_turns' was meant; allowed: a",
        ),
        *[
            (node("timeout", TIDY, seconds=wrong), "Allowed: seconds above 0 and up to 86,400")
            for wrong in (0, -1, 86_401, "5", True, float("nan"), float("inf"))
        ],
        *[
            (node("budget", TIDY, tokens=wrong), "Allowed: a whole number from 1 to 1,000,000,000,000")
            for wrong in (0, 10**12 + 1, "max_turns", 0.5)
        ],
        *[
            (node("budget", TIDY, cost_usd=wrong), 'US dollars from 0.000001 to 1,000,000, such as "0.50"')
            for wrong in (0, -1, 1e-7, "dear", True, [1], "1e99", float("nan"))
        ],
        *[
            (node("parallel", TIDY, TIDY, succeed_when=wrong), '"all", "one", or a whole number from 1 to 2')
            for wrong in (0, 3, "two", True, 1.5)
        ],
        *[
            (node("llm_call", tools=wrong), "'tools' of the llm_call 'llm_call' is")
            for wrong in (1, "yes", None)
        ],
        (node("llm_call", prompt=3), "'prompt' of the llm_call 'llm_call' is 3. Allowed: text."),
        (
            node("repeat_until", TIDY, max=1, ends_in="sucess"),
            "Perhaps 'success' was meant; allowed: \"success\" or \"failure\".",
        ),
        (node("repeat_until", TIDY, max=1, ends_in=3), 'Allowed: "success" or "failure".'),
        (node("action", fn=3), "'fn' of the action 'action' is 3. Allowed: the name of an action."),
        (node("condition", fn=" "), "Allowed: the name of a condition."),
        (node("condition", expression=True), "Allowed: an expression, as text."),
        (node("subtree_ref", tree=3), "Allowed: the name of a tree."),
        (node("tool_call", tool="search", output=3), "Allowed: the name of a key."),
        (node("tool_call", tool="x", args=[1]), "'args' of the tool_call 'tool_call' is [1]. Allowed: a"),
        (node("action", fn="notes.list", args=3), "'args' of the action 'action' is 3. Allowed: a table"),
        (node("tool_call", tool=""), "'tool' of the tool_call 'tool_call' is ''. Allowed: text."),
        (node("subtree", TIDY, blackboard="own"), "Allowed: a table with names."),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_sort_is_told_with_what_is_allowed(root: NodeSpec, problem: str) -> None:
    (told,) = said(root)
    assert problem in told


def test_each_problem_is_told_with_the_file_it_is_in() -> None:
    part = tree("part", node("condition", fn="gone", line=8), keys=(KeySpec(name="a b", line=2),))
    whole = tree("main", node("sequence", ref("part"), node("action", fn="gone", line=5)), part)
    found = problems_of(whole, leaves=LEAVES)
    assert [(one.file, one.line) for one in found] == [("main.lua", 5), ("part.lua", 2), ("part.lua", 8)]


@pytest.mark.parametrize("name", ["", "x" * 101])
def test_the_name_of_a_tree_is_checked(name: str) -> None:
    (problem,) = problems_of(tree(name, TIDY), leaves=LEAVES)
    assert problem.what.startswith("The name of a tree is '")
    assert problem.to_do == "Give it a name of 1 to 100 characters"


def test_a_tree_nobody_refers_to_is_judged_as_well() -> None:
    assert len(said(TIDY, tree("spare", node("action", fn="gone")))) == 1


@pytest.mark.guarantee("E3")
def test_all_problems_are_told_at_once_and_the_tree_is_refused() -> None:
    broken = tree(
        "broken",
        node(
            "sequence",
            node("retry", check("gone > 3"), line=2),
            node("action", fn="os.system", line=3),
            node("reactive_sequence", node("llm_call", line=4), check(), line=4),
            ref("main", line=5),
            ref("broken", line=6),
        ),
    )
    with pytest.raises(TreeError) as refused:
        checked(broken, nowhere, leaves=LEAVES, names=["mains"])
    places = sorted(problem.partition(": ")[0] for problem in refused.value.problems)
    assert places == ["broken.lua", *(f"broken.lua:{line}" for line in (2, 3, 4, 5, 6))]
    assert "The tree 'broken' cannot be used (6 problems)" in refused.value.what


@pytest.mark.guarantee("E3")
def test_a_good_tree_comes_back_whole() -> None:
    part = tree("part", check("turn > 1"))
    main = tree("main", node("sequence", ref("part"), node("tool_call", tool="search")), keys=KEYS)
    whole = checked(main, {"part": part}.get, leaves=LEAVES, tools={"search"})
    assert whole.subtrees == (part,)
    assert whole.root is main.root


@pytest.mark.guarantee("A13", "E3")
def test_a_tree_without_a_bound_is_refused_at_load() -> None:
    loops = nested(4, kind="retry", attempts=10_000)
    with pytest.raises(TreeError, match="no bound worth the name"):
        checked(tree("main", loops), nowhere, leaves=LEAVES)


def test_there_is_an_end_to_what_is_told() -> None:
    assert len(said(node("sequence", *[node("action", fn="gone")] * MOST_PROBLEMS))) == MOST_PROBLEMS
    told = said(node("sequence", *[node("action", fn="gone")] * (MOST_PROBLEMS + 1)))
    assert len(told) == MOST_PROBLEMS + 1
    assert told[-1] == "There are more problems than can be told at once. ."


def every_to_every(many: int) -> list[TreeSpec]:
    """Trees that all refer to each other, each with a key of its own: no end of ways and of circles."""
    refs = [ref(f"t{n}") for n in range(many)]
    return [tree(f"t{n}", node("sequence", *refs), keys=(KeySpec(name=f"k{n}"),)) for n in range(many)]


@pytest.mark.parametrize(
    "hostile",
    [
        tree("wide", node("sequence", *[node("action", fn=f"gone{n}", argz=1) for n in range(10_000)])),
        tree("many", node("sequence", *[node("action", fn=f"nots.list{n}", args={}) for n in range(1_900)])),
        tree("deep", nested(10_000)),
        tree("shared", shared(50)),
        tree("bomb", ref("t0"), *doubling(29).values()),
        tree("circle", ref("circle")),
        tree("all", ref("t0"), *every_to_every(40)),
        tree("ring", ref("a"), tree("a", ref("b"), keys=KEYS), tree("b", node("subtree", ref("a")))),
    ],
    ids=lambda hostile: hostile.name,
)  # fmt: skip
def test_a_hostile_tree_is_refused_in_little_time(hostile: TreeSpec) -> None:
    known = {one.name: one for one in (hostile, *hostile.subtrees)}
    begun = time.perf_counter()
    with pytest.raises(TreeError):
        checked(hostile, known.get, leaves=LEAVES, names=list(known))
    problems_of(hostile, leaves=LEAVES)
    assert time.perf_counter() - begun < 10


WORDS = ["$x", "turn", "part", "true", "notes.write", "max_turns"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
NAMES = st.sampled_from(sorted({one.name for kind in KINDS.values() for one in kind.parameters}))
NONSENSE: st.SearchStrategy[NodeSpec] = st.recursive(
    st.builds(
        NodeSpec,
        kind=st.sampled_from(sorted(KINDS)) | st.text(max_size=5),
        name=st.text(max_size=5),
        parameters=st.dictionaries(NAMES | st.text(max_size=5), VALUES, max_size=4),
    ),
    lambda inner: st.builds(
        NodeSpec,
        kind=st.sampled_from(sorted(KINDS)),
        name=st.text(max_size=5),
        parameters=st.dictionaries(NAMES, VALUES, max_size=4),
        children=st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=6,
)


@given(NONSENSE, NONSENSE)
def test_nonsense_is_refused_and_what_is_not_refused_can_be_built(root: NodeSpec, other: NodeSpec) -> None:
    part = tree("part", other, keys=KEYS)
    whole = None
    with suppress(TreeError):
        whole = checked(tree("main", root), {"part": part}.get, leaves=LEAVES, tools=["search"])
    if whole is not None:
        Tree(whole, leaves=LEAVES, services=StageServices(), counts=GREATEST_COUNTS)
