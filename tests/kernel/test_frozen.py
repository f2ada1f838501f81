"""Freezing what others hand in: a read-only copy of plain JSON, all the way down."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from endstop.errors import InvalidValueError
from endstop.kernel.frozen import frozen_json

PLAIN: dict[str, object] = {
    "text": "words",
    "whole": 1,
    "number": 1.5,
    "yes": True,
    "nothing": None,
    "list": [1, "two", [3]],
    "inside": {"more": {"still": "more"}},
}


def nested(levels: int) -> dict[str, object]:
    """A mapping with so many levels of mappings in it."""
    value: dict[str, object] = {}
    for _ in range(levels):
        value = {"in": value}
    return value


@pytest.mark.guarantee("F2")
def test_plain_values_are_kept_and_lists_become_tuples() -> None:
    frozen = frozen_json("extensions", PLAIN)
    assert frozen == {**PLAIN, "list": (1, "two", (3,))}


@pytest.mark.guarantee("F2")
def test_the_copy_does_not_follow_the_original() -> None:
    inner = {"count": 1}
    items: list[object] = [inner]
    frozen = frozen_json("extensions", {"items": items})
    inner["count"] = 2
    items.append("more")
    assert frozen == {"items": ({"count": 1},)}


@pytest.mark.guarantee("F2")
def test_the_copy_cannot_be_changed_on_any_level() -> None:
    frozen = cast("Any", frozen_json("extensions", PLAIN))
    with pytest.raises(TypeError):
        frozen["text"] = "other"
    with pytest.raises(TypeError):
        frozen["inside"]["more"]["still"] = "other"
    with pytest.raises(TypeError):
        frozen["list"][0] = 2


@pytest.mark.guarantee("F2")
def test_what_is_frozen_can_be_frozen_again() -> None:
    frozen = frozen_json("extensions", PLAIN)
    assert frozen_json("extensions", frozen) == frozen


@pytest.mark.parametrize("value", [None, [], "text", 5, [("key", "value")]])
def test_what_is_no_mapping_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidValueError, match=r"^extensions is .*Allowed: a mapping\."):
        frozen_json("extensions", value)


@pytest.mark.guarantee("F2")
@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", len, 1j])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_what_is_not_plain_is_refused_however_deep_it_lies(value: object, depth: int) -> None:
    wrapped = (value, [value], {"in": [value]})[depth]
    with pytest.raises(InvalidValueError) as caught:
        frozen_json("extensions", {"key": wrapped})
    assert caught.value.field == "extensions"
    assert "text, numbers, true, false, null, lists and mappings" in caught.value.allowed
    assert caught.value.to_do


@pytest.mark.guarantee("F2")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_cannot_write_is_refused(value: float) -> None:
    with pytest.raises(InvalidValueError, match=r"^extensions is "):
        frozen_json("extensions", {"key": [value]})


@pytest.mark.parametrize("key", [1, None, ("a",), True])
def test_a_key_that_is_no_text_is_refused(key: object) -> None:
    with pytest.raises(InvalidValueError, match=r"^extensions is .*Allowed: text as keys\."):
        frozen_json("extensions", {"in": {key: "value"}})


@pytest.mark.guarantee("F2")
def test_values_may_nest_twenty_levels_and_no_further() -> None:
    assert frozen_json("extensions", nested(20)) == nested(20)
    with pytest.raises(
        InvalidValueError, match=r"^extensions is 'nested too deep'\. Allowed: at most 20 levels"
    ):
        frozen_json("extensions", nested(21))


@pytest.mark.guarantee("F2")
def test_lists_nest_no_further_than_mappings() -> None:
    items: list[object] = []
    for _ in range(20):
        items = [items]
    with pytest.raises(InvalidValueError, match="nested too deep"):
        frozen_json("extensions", {"items": items})
    assert frozen_json("extensions", {"items": items[0]})


@pytest.mark.guarantee("F2")
def test_a_value_that_contains_itself_is_refused_and_not_followed_for_ever() -> None:
    around: dict[str, object] = {}
    around["again"] = around
    with pytest.raises(InvalidValueError, match="nested too deep"):
        frozen_json("extensions", around)


def test_nothing_is_a_mapping_too() -> None:
    frozen: Mapping[str, object] = frozen_json("extensions", {})
    assert frozen == {}
