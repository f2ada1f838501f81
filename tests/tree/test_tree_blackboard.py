"""The blackboard: typed, bounded, with walls between those who run beside each other (E2)."""

from __future__ import annotations

import json
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError
from endstop.tree.blackboard import Blackboard
from endstop.tree.plain_values import light_bytes, require_type, weighed
from endstop.tree.spec import KeySpec, KeyType, PlainValue


def key(name: str, type_: KeyType = KeyType.ANY, default: PlainValue = None) -> KeySpec:
    return KeySpec(name=name, type=type_, default=default)


def board(*names: str, most_bytes: int = 1_000_000) -> Blackboard:
    return Blackboard([key(name) for name in names], most_bytes=most_bytes)


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


def test_a_key_holds_its_default_until_something_is_written() -> None:
    blackboard = Blackboard([key("tries", KeyType.INTEGER, 3), key("notes", KeyType.LIST)])
    assert blackboard.get("tries") == 3
    assert blackboard.get("notes") is None
    blackboard.set("tries", 4)
    assert blackboard.get("tries") == 4
    assert blackboard.keys == ("tries", "notes")


@pytest.mark.guarantee("E2")
def test_a_key_that_nobody_declared_is_refused_with_a_suggestion() -> None:
    blackboard = board("answer")
    for one in (blackboard, blackboard.scope([key("other")]), blackboard.branch()):
        with pytest.raises(InvalidValueError, match=r"'anwser'.*Did you mean 'answer'\?"):
            one.get("anwser")
        with pytest.raises(InvalidValueError, match=r"'anwser'.*Did you mean 'answer'\?"):
            one.set("anwser", 1)
    assert not blackboard.declares("anwser")


def test_a_key_unlike_any_other_is_refused_with_advice() -> None:
    with pytest.raises(InvalidValueError, match="Declare it in the tree's blackboard"):
        board("answer").get("zzz")


def test_a_key_is_declared_once() -> None:
    with pytest.raises(InvalidValueError, match="each name once"):
        board("x", "x")


TYPES: list[tuple[KeyType, list[Any], list[Any]]] = [
    (KeyType.STRING, ["", "text", Colour.RED], [1, True, ["text"]]),
    (KeyType.INTEGER, [0, -7, Level.HIGH], [1.0, True, "1"]),
    (KeyType.NUMBER, [0, 1.5], [False, "1.5", [1]]),
    (KeyType.BOOLEAN, [True, False], [0, "true"]),
    (KeyType.LIST, [[], (1, 2), [[]]], ["ab", {"a": 1}, 3]),
    (KeyType.MAP, [{}, {"a": [1]}, MappingProxyType({"a": 1})], [[], "a"]),
    (KeyType.ANY, [1, 1.5, True, "a", [1], {"a": 1}], []),
]


@pytest.mark.guarantee("E2")
@pytest.mark.parametrize(("type_", "good", "bad"), TYPES)
def test_values_are_checked_against_the_type_of_their_key(
    type_: KeyType, good: list[Any], bad: list[Any]
) -> None:
    blackboard = Blackboard([key("x", type_)])
    for value in (*good, None):
        blackboard.set("x", value)
        assert blackboard.get("x") == ([1, 2] if value == (1, 2) else value)
    before = blackboard.get("x")
    for value in bad:
        with pytest.raises(InvalidValueError, match="blackboard key 'x'"):
            blackboard.set("x", value)
        assert blackboard.get("x") == before


def test_a_default_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="a whole number"):
        Blackboard([key("x", KeyType.INTEGER, "three")])


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.guarantee("E2")
@pytest.mark.parametrize(
    "value",
    [
        object(),
        b"bytes",
        {1, 2},
        float("nan"),
        [float("inf")],
        {1: "a"},
        {"a": object()},
        2**63,
        [10**5000],
        nested(17),
        endless(),
    ],
)
def test_only_what_json_can_say_may_be_written(value: object) -> None:
    blackboard = board("x")
    with pytest.raises(InvalidValueError):
        blackboard.set("x", value)
    assert blackboard.get("x") is None


def test_enumerations_become_what_they_stand_for() -> None:
    blackboard = board("x")
    blackboard.set("x", [Colour.RED, Level.HIGH, {Colour.RED: 1}])
    value = blackboard.get("x")
    assert isinstance(value, list)
    assert [type(item) for item in value] == [str, int, dict]
    assert blackboard.snapshot() == {"x": ["red", 3, {"red": 1}]}


def test_neither_the_writer_nor_a_reader_can_change_what_is_kept() -> None:
    blackboard = board("x")
    mine = {"list": [1]}
    blackboard.set("x", mine)
    mine["list"].append(2)
    read: Any = blackboard.get("x")
    read["list"].append(3)
    assert blackboard.get("x") == {"list": [1]}


def test_nor_can_anybody_change_a_default() -> None:
    default: list[PlainValue] = [1]
    blackboard = Blackboard([key("x", default=default)])
    default.append(2)
    read: Any = blackboard.get("x")
    read.append(3)
    blackboard.set("x", None)
    blackboard.clear()
    assert blackboard.get("x") == [1]


@pytest.mark.guarantee("E2")
def test_the_whole_is_limited_in_size_and_what_does_not_fit_changes_nothing() -> None:
    blackboard = board("x", "y", most_bytes=1_000)
    blackboard.set("x", "a" * 900)
    with pytest.raises(InvalidValueError, match=r"at most 1,000 in all.*set keys that are no longer needed"):
        blackboard.set("y", "b" * 100)
    assert blackboard.get("y") is None
    blackboard.set("x", "a" * 950)
    blackboard.set("x", None)
    blackboard.set("y", "b" * 900)


def test_text_weighs_what_its_bytes_do_also_if_it_is_broken() -> None:
    blackboard = board("x", most_bytes=100)
    blackboard.set("x", "\ud800" * 30)
    with pytest.raises(InvalidValueError, match="size of the blackboard"):
        blackboard.set("x", "€" * 34)


def test_weighing_a_huge_value_ends_early() -> None:
    class Counting(dict[str, int]):
        looked = 0

        def items(self) -> Any:
            for number in range(10**9):
                self.looked += 1
                yield str(number), number

    blackboard = board("x", most_bytes=1_000)
    huge = Counting()
    with pytest.raises(InvalidValueError, match="size of the blackboard"):
        blackboard.set("x", huge)
    assert huge.looked < 1_000


def test_scopes_and_branches_count_towards_the_same_limit_and_give_back_what_they_held() -> None:
    blackboard = board("x", most_bytes=1_000)
    scope, branch = blackboard.scope([key("mine")]), blackboard.branch()
    scope.set("mine", "a" * 500)
    branch.set("x", "b" * 400)
    with pytest.raises(InvalidValueError, match="at most 1,000"):
        blackboard.set("x", "c" * 100)
    scope.clear()
    branch.clear()
    blackboard.set("x", "c" * 900)


@pytest.mark.guarantee("E2")
def test_the_keys_of_a_scope_are_its_own_and_all_else_goes_up() -> None:
    blackboard = board("outer", "both")
    scope = blackboard.scope([key("inner"), key("both", default="own")])
    scope.set("inner", 1)
    scope.set("outer", 2)
    scope.set("both", 3)
    assert blackboard.snapshot() == {"outer": 2, "both": None}
    assert scope.snapshot() == {"inner": 1, "both": 3}
    assert scope.get("outer") == 2
    assert scope.keys == ("outer", "both", "inner")
    assert scope.declares("outer")
    assert not blackboard.declares("inner")
    scope.clear()
    assert scope.get("inner") is None
    assert scope.get("both") == "own"


@pytest.mark.guarantee("E2")
def test_what_is_written_to_a_branch_stays_there_until_it_is_merged() -> None:
    blackboard = Blackboard([key("x", default=0), key("y", KeyType.LIST)])
    first, second = blackboard.branch(), blackboard.branch()
    first.set("x", 1)
    first.set("y", [1])
    second.set("x", 2)
    assert (blackboard.get("x"), first.get("x"), second.get("x")) == (0, 1, 2)
    with pytest.raises(InvalidValueError, match="a list"):
        second.set("y", "no list")
    blackboard.merge([first, second])
    assert blackboard.snapshot() == {"x": 2, "y": [1]}
    assert first.snapshot() == {}


def test_a_branch_of_a_scope_of_a_branch_merges_one_wall_at_a_time() -> None:
    blackboard = board("x")
    outer = blackboard.branch()
    scope = outer.scope([key("mine")])
    inner = scope.branch()
    inner.set("x", 1)
    inner.set("mine", 2)
    assert inner.snapshot() == {"x": 1, "mine": 2}
    scope.merge([inner])
    assert scope.get("mine") == 2
    assert outer.snapshot() == {"x": 1}
    assert blackboard.get("x") is None
    blackboard.merge([outer])
    assert blackboard.get("x") == 1


def test_a_full_board_can_still_be_merged_into() -> None:
    blackboard = board("x", most_bytes=1_000)
    branch = blackboard.branch()
    branch.set("x", "a" * 990)
    blackboard.merge([branch])
    assert blackboard.get("x") == "a" * 990
    assert blackboard.used_bytes == 992


@pytest.mark.guarantee("E2")
def test_a_snapshot_brings_everything_back() -> None:
    blackboard = Blackboard([key("x", default=[1]), key("y")])
    blackboard.set("y", {"deep": [1, 2]})
    snapshot = json.loads(json.dumps(blackboard.snapshot()))
    blackboard.set("x", None)
    blackboard.set("y", "gone")
    blackboard.restore(snapshot)
    assert blackboard.snapshot() == {"x": [1], "y": {"deep": [1, 2]}}
    fresh = Blackboard([key("x", default=[1]), key("y"), key("new", default="new")])
    fresh.restore(snapshot)
    assert fresh.snapshot() == {"x": [1], "y": {"deep": [1, 2]}, "new": "new"}


def test_a_branch_can_be_restored_too() -> None:
    branch = board("x", "y").branch()
    branch.set("x", 1)
    snapshot = branch.snapshot()
    branch.set("y", 2)
    branch.restore(snapshot)
    assert branch.snapshot() == {"x": 1}


@pytest.mark.parametrize(
    "snapshot", [{"x": 1, "nobody": 2}, {"x": "text"}, {"x": 1, "outer": 3}, {"y": "a" * 500}]
)
def test_a_snapshot_that_does_not_fit_changes_nothing(snapshot: dict[str, object]) -> None:
    blackboard = board("outer", most_bytes=100).scope([key("x", KeyType.INTEGER, 7), key("y")])
    blackboard.set("y", "kept")
    used_bytes = blackboard.used_bytes
    with pytest.raises(InvalidValueError):
        blackboard.restore(snapshot)
    assert blackboard.snapshot() == {"x": 7, "y": "kept"}
    assert blackboard.used_bytes == used_bytes


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
WRITES = st.lists(
    st.tuples(st.sampled_from(["board", "scope", "branch", "merge", "clear"]), st.sampled_from("xyz"), PLAIN),
    max_size=20,
)


@pytest.mark.guarantee("E2")
@given(WRITES)
def test_the_books_about_its_size_are_right_whatever_is_written(steps: list[tuple[str, str, Any]]) -> None:
    """What is held is what a board made afresh from it would hold."""
    blackboard = board("x", "y")
    scope = blackboard.scope([key("z")])
    branch = scope.branch()
    boards = {"board": blackboard, "scope": scope, "branch": branch}
    for what, name, value in steps:
        if what == "merge":
            scope.merge([branch])
        elif what == "clear":
            branch.clear()
        elif boards[what].declares(name):
            boards[what].set(name, value)
            assert boards[what].get(name) == value
    fresh = [Blackboard([key(name) for name in one.snapshot()]) for one in boards.values()]
    for one, copy in zip(boards.values(), fresh, strict=True):
        copy.restore(one.snapshot())
    assert blackboard.used_bytes == sum(one.used_bytes for one in fresh)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=3),
)


@given(VALUES, st.sampled_from(KeyType))
def test_the_short_way_says_of_a_value_what_the_long_way_says(value: object, key_type: KeyType) -> None:
    size = light_bytes(value, key_type)
    if size is None:
        return
    assert weighed("value", value, most_bytes=1_000) == (value, size)
    require_type("value", cast("PlainValue", value), key_type)
