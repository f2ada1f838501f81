"""What leaves are given, and what their answers mean (E1)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tree_stage import Stage, key, looks, node, plays, settle, writes

from endstop.tree.engine import Tree
from endstop.tree.leaves import LeafContext
from endstop.tree.spec import KeyType
from endstop.tree.status import RunStatus

SUCCESS, FAILURE, RUNNING = RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.RUNNING


class Wrong:
    """No answer that means anything."""


def answering(answer: Any, *, is_action: bool) -> Tree:
    """A tree of one leaf that answers this, or raises it."""
    stage = Stage()

    def leaf(leaf: LeafContext) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    kind = "action" if is_action else "condition"
    (stage.leaves.action if is_action else stage.leaves.condition)("leaf")(leaf)
    return stage.tree(node(kind, name="leaf", fn="leaf"), is_traced=True)


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (True, SUCCESS),
        (False, FAILURE),
        (None, FAILURE),
        ([1], SUCCESS),
        ("", FAILURE),
        (ValueError("broken"), FAILURE),
        (RecursionError(), FAILURE),
        (asyncio.CancelledError(), FAILURE),
    ],
)
def test_a_condition_succeeds_if_it_holds_and_never_raises(answer: object, status: RunStatus) -> None:
    tree = answering(answer, is_action=False)
    assert tree.tick() is status
    assert tree.running_path == ()
    assert ("leaf" in tree.errors) is isinstance(answer, BaseException)


def test_a_condition_that_would_have_to_be_waited_for_does_not_hold() -> None:
    async def later() -> bool:
        return True

    tree = answering(later, is_action=False)
    assert tree.tick() is FAILURE
    assert "at once" in tree.errors["leaf"]


async def test_a_condition_that_gives_a_future_does_not_hold_either() -> None:
    tree = answering(asyncio.get_running_loop().create_future, is_action=False)
    assert tree.tick() is FAILURE


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (None, SUCCESS),
        (True, SUCCESS),
        (False, FAILURE),
        (SUCCESS, SUCCESS),
        (FAILURE, FAILURE),
        (RUNNING, RUNNING),
        ("done", FAILURE),
        (Wrong(), FAILURE),
        (ValueError("broken"), FAILURE),
        (asyncio.CancelledError(), FAILURE),
    ],
)
def test_an_action_that_answers_at_once(answer: object, status: RunStatus) -> None:
    tree = answering(answer, is_action=True)
    assert tree.tick() is status
    assert tree.running_path == (("leaf",) if status is RUNNING else ())
    assert ("leaf" in tree.errors) is isinstance(answer, BaseException | str | Wrong)


@pytest.mark.guarantee("E1")
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (None, SUCCESS),
        (True, SUCCESS),
        (False, FAILURE),
        (FAILURE, FAILURE),
        (RUNNING, RUNNING),
        ("done", FAILURE),
        (ValueError("broken"), FAILURE),
        (asyncio.CancelledError(), FAILURE),
    ],
)
async def test_an_action_that_takes_time_is_running_until_it_has_ended(
    answer: object, status: RunStatus
) -> None:
    async def work() -> object:
        await asyncio.sleep(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    tree = answering(work, is_action=True)
    assert tree.tick() is RUNNING
    await tree.wait()
    assert tree.tick() is status
    tree.halt()


async def test_an_action_may_give_anything_that_can_be_awaited() -> None:
    future = asyncio.get_running_loop().create_future()
    tree = answering(lambda: future, is_action=True)
    assert tree.tick() is RUNNING
    future.set_result(True)
    await tree.wait()
    assert tree.tick() is SUCCESS


async def test_an_action_that_takes_time_and_says_running_is_asked_again() -> None:
    answers = [RUNNING, SUCCESS]

    async def work() -> RunStatus:
        return answers.pop(0)

    tree = answering(work, is_action=True)
    tree.tick()
    await settle()
    assert tree.tick() is RUNNING
    assert tree.tick() is RUNNING
    await settle()
    assert tree.tick() is SUCCESS


def test_an_action_that_takes_time_fails_where_nothing_can_take_time() -> None:
    async def work() -> None: ...

    tree = answering(work, is_action=True)
    assert tree.tick() is FAILURE
    assert "no running event loop" in tree.errors["leaf"]


def test_what_is_not_an_error_but_an_order_to_end_goes_through_and_leaves_nothing_running() -> None:
    tree = answering(KeyboardInterrupt(), is_action=True)
    with pytest.raises(KeyboardInterrupt):
        tree.tick()
    assert tree.running_path == ()


@pytest.mark.parametrize(
    ("given", "received"),
    [
        ("plain", "plain"),
        ("$text", "hello"),
        ("$list", [1, {"deep": True}]),
        (["$text", {"in": "$number"}, 3], ["hello", {"in": 7}, 3]),
        ("a $text inside", "a $text inside"),
        ("$", "$"),
        ("$5 per month", "$5 per month"),
        ("$nothing", None),
    ],
)
def test_a_text_that_names_a_key_stands_for_what_it_holds(given: object, received: object) -> None:
    stage = Stage()
    keys = [
        key("text", default="hello"),
        key("number", default=7),
        key("list", default=[1, {"deep": True}]),
        key("nothing"),
    ]
    assert stage.tree(looks(given), keys=keys).tick() is SUCCESS
    assert stage.seen == [received]


def test_what_a_leaf_does_to_its_arguments_hurts_nobody() -> None:
    stage = Stage()
    root = node("sequence", looks("$list"), looks(["fixed"]))
    tree = stage.tree(root, keys=[key("list", default=["kept"])])
    for _ in range(2):
        tree.tick()
        for seen in stage.seen:
            seen.append("changed")
    assert stage.seen[2:] == [["kept", "changed"], ["fixed", "changed"]]


def test_an_argument_that_names_no_key_is_a_failure_with_a_suggestion() -> None:
    stage = Stage()
    tree = stage.tree(looks("$anwser"), keys=[key("answer")])
    assert tree.tick() is FAILURE
    assert "Did you mean 'answer'?" in tree.errors["look"]


@pytest.mark.parametrize(
    ("expression", "status"), [("turn > 3", SUCCESS), ("turn > 4", FAILURE), ("missing == 1", FAILURE)]
)
def test_a_condition_can_be_an_expression(expression: str, status: RunStatus) -> None:
    tree = Stage().tree(node("condition", expression=expression), keys=[key("turn", default=4)])
    assert tree.tick() is status


def test_a_guard_and_a_repeat_can_have_an_expression() -> None:
    stage = Stage()
    root = node(
        "repeat_until",
        node("guard", writes("turn", 5), expression="turn == 4"),
        max=3,
        expression="turn == 5",
    )
    tree = stage.tree(root, keys=[key("turn", default=4)])
    assert tree.tick() is SUCCESS


def test_a_guard_whose_condition_raises_does_not_let_its_node_run() -> None:
    stage = Stage()

    @stage.leaves.condition("broken")
    def broken(leaf: LeafContext) -> bool:  # pyright: ignore[reportUnusedFunction]
        raise ValueError("broken")

    tree = stage.tree(node("guard", plays("a", "s"), fn="broken"))
    assert stage.ticked(tree, 1) == ["f"]
    assert tree.errors == {"guard": "ValueError: broken"}


@pytest.mark.guarantee("E1")
async def test_an_llm_call_writes_down_what_the_model_answered() -> None:
    stage = Stage()
    stage.services.answers = ["forty-two"]
    root = node("llm_call", prompt="{question} Say {{why}. {nothing}{n}", output="answer")
    keys = [
        key("question", default="What?"),
        key("n", default=3),
        key("nothing"),
        key("answer", KeyType.STRING),
    ]
    tree = stage.tree(root, keys=keys)
    assert await tree.run() is SUCCESS
    assert stage.services.calls == [("What? Say {why}. 3", True)]
    assert tree.blackboard.get("answer") == "forty-two"


@pytest.mark.parametrize("prompt", ['{"json": {"a": 1}}', "{", "{}", "{not a key}", "} {", ""])
async def test_braces_around_no_key_stand_for_themselves(prompt: str) -> None:
    stage = Stage()
    stage.services.answers = ["fine"]
    assert await stage.tree(node("llm_call", prompt=prompt, tools=False)).run() is SUCCESS
    assert stage.services.calls == [(prompt, False)]


async def test_a_prompt_that_names_no_key_is_never_sent() -> None:
    stage = Stage()
    assert await stage.tree(node("llm_call", prompt="{what}")).run() is FAILURE
    assert stage.services.calls == []


async def test_an_llm_call_needs_no_prompt() -> None:
    stage = Stage()
    stage.services.answers = ["fine"]
    assert await stage.tree(node("llm_call")).run() is SUCCESS
    assert stage.services.calls == [("", True)]


@pytest.mark.guarantee("E1")
async def test_a_tool_call_writes_down_the_result() -> None:
    stage = Stage()
    stage.services.answers = ["found"]
    root = node("tool_call", tool="search", args={"query": "$question", "most": 3}, output="result")
    tree = stage.tree(root, keys=[key("question", default="What?"), key("result")])
    assert await tree.run() is SUCCESS
    assert stage.services.calls == [("search", {"query": "What?", "most": 3})]
    assert tree.blackboard.get("result") == "found"


@pytest.mark.parametrize("answer", [None, RuntimeError("gone"), asyncio.CancelledError()])
@pytest.mark.parametrize("call", [node("llm_call", prompt="?"), node("tool_call", tool="search")])
async def test_no_answer_is_a_failure(call: Any, answer: Any) -> None:
    stage = Stage()
    stage.services.answers = [answer]
    assert await stage.tree(call).run() is FAILURE


async def test_an_answer_that_does_not_fit_its_key_is_a_failure() -> None:
    stage = Stage()
    stage.services.answers = ["text"]
    tree = stage.tree(node("tool_call", tool="x", output="n"), keys=[key("n", KeyType.INTEGER)])
    assert await tree.run() is FAILURE
    assert "a whole number" in tree.errors["tool_call"]
