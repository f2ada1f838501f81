"""Writing values as JSON text: the same text as by way of plain values, only sooner."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from payload_examples import EXAMPLES

from endstop.events.codec import encode, to_json
from endstop.events.facts import Fact, Payload, severity_of, type_of
from endstop.events.writing import json_text
from endstop.kernel.outcome import Completed


class Colour(Enum):
    RED = "red"
    LEVEL = 3


class Word(StrEnum):
    YES = "yes"


class Level(IntEnum):
    HIGH = 9


@dataclass(frozen=True)
class Nothing:
    """A value without fields."""


@dataclass(frozen=True)
class One:
    only: object


def plain(value: Any) -> object:
    """A value as plain JSON values, worked out anew at each step."""
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): plain(item) for key, item in items}
    if isinstance(value, tuple | list):
        return [plain(item) for item in cast("list[object]", value)]
    return {each.name: plain(getattr(value, each.name)) for each in fields(value) if each.init}


def without_tags(value: object) -> object:
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {key: without_tags(item) for key, item in items if key != "is"}
    return [without_tags(one) for one in cast("list[object]", value)] if isinstance(value, list) else value


VALUES: list[object] = [
    *(None, True, False, 0, -7, 10**30, 0.5, -0.0, 1e300, 12345.678, "", "text", 'quo"ted\\', "line\nbreak"),
    *("caf\u00e9", "\ud800", "\U0001f600", Decimal("0.10"), Decimal("1E-7"), Colour.RED, Colour.LEVEL),
    *(Word.YES, Level.HIGH, (), [], (1, ("two", None)), {}, {"a": {"b": (1,)}}, {Word.YES: 1, 2: 3}),
    *({1: "first", "1": "second"}, MappingProxyType({"x": 1}), Nothing(), One(only=One(only="x"))),
]


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_written_as_json_would_write_its_plain_form(value: object) -> None:
    assert json_text(value) == json.dumps(plain(value), separators=(",", ":"), allow_nan=False)


@pytest.mark.guarantee("H1")
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_value_is_written_as_json_writes_it(value: object) -> None:
    assert json_text(value) == json.dumps(value, separators=(",", ":"))


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_fact_is_written_as_json_would_write_its_plain_form(name: str) -> None:
    payload: Payload = EXAMPLES[name]
    fact = Fact(run_id='run "1"', seq=4, time=1.25, source="loop", payload=payload)
    line = encode(fact)
    assert line == json.dumps(to_json(fact), separators=(",", ":"), allow_nan=False)
    expected = {
        "run_id": 'run "1"',
        "seq": 4,
        "type": type_of(payload),
        "version": 1,
        "time": 1.25,
        "source": "loop",
        "severity": severity_of(payload).value,
        "payload": plain(payload),
    }
    assert without_tags(to_json(fact)) == without_tags(expected)
    assert list(to_json(fact)) == list(expected)


@pytest.mark.guarantee("H1")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_cannot_say_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_text({"deep": [value]})


@pytest.mark.guarantee("H1")
def test_a_member_of_a_union_says_which_it_is() -> None:
    assert json_text(Completed(answer="x")) == '{"is":"Completed","answer":"x","warnings":[]}'
