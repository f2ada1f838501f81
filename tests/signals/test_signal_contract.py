"""What a signal is, and what the texts of its fields mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError
from endstop.signals import DEFAULT_CONFIDENCE, FIELDS_OF, FieldValue, MalformedSignal, Signal, SignalType
from endstop.signals.envelope import read_confidence, read_signal, read_value, split_fields

NEED_TURN = SignalType.NEED_TURN


@pytest.mark.guarantee("C1")
def test_the_types_and_their_fields() -> None:
    assert {type_.value: fields for type_, fields in FIELDS_OF.items()} == {
        "need_turn": ("reason", "expected_turns"),
        "context_sufficient": ("sources_found", "source_types"),
        "stuck": ("attempted", "blocker", "suggestions"),
        "need_capability": ("capability", "reason", "workaround"),
        "partial_answer": ("missing", "caveat"),
        "delegation_recommended": ("reason", "scope", "estimated_tokens", "subagent_type"),
    }


def test_every_type_has_its_fields_documented() -> None:
    assert set(FIELDS_OF) == set(SignalType)


@pytest.mark.guarantee("C2")
@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("0.85", 0.85),
        ("0", 0.0),
        ("1", 1.0),
        (".5", 0.5),
        ("+0.25", 0.25),
        ("2.5e-1", 0.25),
        ("1.01", 1.0),
        ("85", 1.0),
        ("-0.1", 0.0),
        ("inf", 1.0),
        ("Infinity", 1.0),
        ("-inf", 0.0),
        ("1e999", 1.0),
        ("-1e999", 0.0),
    ],
)
def test_a_confidence_is_clamped(text: str, confidence: float) -> None:
    assert read_confidence(text) == confidence


@pytest.mark.guarantee("C2")
@pytest.mark.parametrize(
    "text", ["", "high", "85%", "0,5", "1_0", "nan", "-NaN", "0.8 0.9", "[1]", "0x1", "١", "½", "true"]
)
def test_an_unreadable_confidence_is_a_half(text: str) -> None:
    assert read_confidence(text) == DEFAULT_CONFIDENCE == 0.5


@pytest.mark.guarantee("C2")
@given(text=st.text() | st.floats().map(str) | st.integers().map(str))
def test_every_confidence_is_from_0_to_1(text: str) -> None:
    assert 0.0 <= read_confidence(text) <= 1.0


@pytest.mark.guarantee("C2")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("+3", 3),
        ("007", 7),
        ("9" * 18, 10**18 - 1),
        ("[]", ()),
        ('["a", 1, 2.5, true, null]', ("a", 1, 2.5, True, None)),
        ("[[1, [2]], []]", ((1, (2,)), ())),
        (f"[-{'9' * 18}]", (1 - 10**18,)),
        ('[{"a": [1]}]', ({"a": (1,)},)),
    ],
)
def test_whole_numbers_and_json_lists_are_read(text: str, value: FieldValue) -> None:
    assert not isinstance(read_value(text), str)
    assert read_value(text) == value


@pytest.mark.guarantee("C2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "3.0",
        "1e3",
        "1_000",
        "1,000",
        "- 3",
        "٣",
        "9" * 19,
        '{"a": 1}',
        "null",
        '"text"',
        "[1, 2",
        "[1, 2,]",
        "[a, b]",
        "[1] and [2]",
        "[NaN]",
        "[-Infinity]",
        "[1e999]",
        '["\\ud800"]',
        '[{"\\ud800": 1}]',
        f"[{'9' * 19}]",
        "[" * 9 + "]" * 9,
        '[{"a":' * 4 + "[]" + "}]" * 4,
        "[" * 2_000 + "]" * 2_000,
        '[{"a":' * 1_000 + "1" + "}]" * 1_000,
        "[" * 3_000 + "]",
    ],
)
def test_anything_else_stays_text(text: str) -> None:
    assert read_value(text) == text


@pytest.mark.guarantee("C2")
def test_a_list_nests_as_deep_as_8() -> None:
    value: object = read_value("[" * 8 + "]" * 8)
    depth = 0
    while isinstance(value, tuple):
        depth += 1
        value = cast("tuple[object, ...]", value)[0] if value else None
    assert depth == 8


@given(text=st.text(alphabet='[]{}",:0123456789.eE+-ntf\\u d'))
def test_every_text_has_a_value(text: str) -> None:
    value = read_value(text)
    assert isinstance(value, int | tuple) or value == text


def test_an_object_in_a_list_cannot_be_changed() -> None:
    value = read_value('[{"a": 1}]')
    assert isinstance(value, tuple)
    inner = value[0]
    assert isinstance(inner, Mapping)
    with pytest.raises(TypeError):
        cast("dict[str, int]", inner)["a"] = 2


@pytest.mark.guarantee("C1")
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("", {}),
        (" \n ", {}),
        ("<a>x</a>", {"a": "x"}),
        ("\n <a>x</a>\n <b-2>y</b-2> ", {"a": "x", "b-2": "y"}),
        ("<a></a>", {"a": ""}),
        ("<a>first</a><a>second</a>", {"a": "first"}),
        ("<a>x < y & <b>z</b></a>", {"a": "x < y & <b>z</b>"}),
        ("<_a>x</_a>", {"_a": "x"}),
    ],
)
def test_a_body_is_split_into_fields(body: str, fields: dict[str, str]) -> None:
    assert split_fields(body) == (fields, "")


@pytest.mark.guarantee("C4")
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<a>x", "the field 'a' is not closed"),
        ("<a>x</b>", "the field 'a' is not closed"),
        ("<a>x</a><b>", "the field 'b' is not closed"),
        (f"<{'a' * 999}>", f"the field '{'a' * 40}' is not closed"),
        ("hello", "text outside of the fields"),
        ("<a>x</a> hello", "text outside of the fields"),
        ("hello <a>x</a>", "text outside of the fields"),
        ("<1a>x</1a>", "a tag that opens no field"),
        ("<a b='c'>x</a>", "a tag that opens no field"),
        ("<a/>", "a tag that opens no field"),
        ("<a>x</a></a>", "a tag that opens no field"),
        ("<>x</>", "a tag that opens no field"),
    ],
)
def test_what_is_wrong_with_a_body(body: str, problem: str) -> None:
    assert split_fields(body)[1] == problem


@pytest.mark.guarantee("C1", "C2")
def test_fields_as_written_become_a_signal() -> None:
    raw = {"reason": " more ", "expected_turns": "2", "sources": "[1, 2]", "confidence": " 0.85\n"}
    signal = read_signal(NEED_TURN, raw)
    fields: dict[str, FieldValue] = {"reason": "more", "expected_turns": 2, "sources": (1, 2)}
    assert signal == Signal(type=NEED_TURN, confidence=0.85, fields=fields)


@pytest.mark.guarantee("C2")
def test_a_signal_without_confidence_has_a_half() -> None:
    assert read_signal(NEED_TURN, {}) == Signal(type=NEED_TURN, confidence=0.5, fields={})


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a &lt; b &gt; c", "a < b > c"),
        ("&quot;it&apos;s&quot; &amp; more", '"it\'s" & more'),
        ("&amp;lt;", "&lt;"),
        ("AT&T & co; &unknown; &", "AT&T & co; &unknown; &"),
        ("&#65;&#x42;&#x1F600;", "AB\U0001f600"),
        ("&#0; &#xD800; &#xDFFF; &#x110000; &#9999999;", "&#0; &#xD800; &#xDFFF; &#x110000; &#9999999;"),
        ("&#32;x&#32;", "x"),
        ("a < b", "a < b"),
    ],
)
def test_entities_are_decoded_once(raw: str, text: str) -> None:
    assert read_signal(NEED_TURN, {"reason": raw}).fields["reason"] == text


@pytest.mark.parametrize(
    ("value", "reason"),
    [("because", "because"), ("", ""), (3, "3"), (("ä", {"b": 1}), '["ä", {"b": 1}]')],
)
def test_a_reason_is_text_whatever_it_was_read_as(value: FieldValue, reason: str) -> None:
    assert Signal(type=NEED_TURN, fields={"reason": value}).reason == reason


def test_a_list_that_holds_an_object_is_a_reason_too() -> None:
    assert read_signal(NEED_TURN, {"reason": '[{"a":1}]'}).reason == '[{"a": 1}]'


def test_a_signal_without_a_reason_has_none() -> None:
    assert Signal(type=NEED_TURN).reason is None


def test_a_signal_cannot_be_changed() -> None:
    given_fields: dict[str, FieldValue] = {"reason": "a"}
    signal = Signal(type=NEED_TURN, fields=given_fields)
    given_fields["reason"] = "b"
    assert signal.reason == "a"
    with pytest.raises(TypeError):
        cast("dict[str, FieldValue]", signal.fields)["reason"] = "c"
    with pytest.raises(FrozenInstanceError):
        signal.confidence = 1.0  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.guarantee("C2")
@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_signal_is_not_made_with_a_confidence_out_of_bounds(confidence: float) -> None:
    with pytest.raises(InvalidValueError, match=r"confidence is .*Allowed: 0\.0 to 1\.0"):
        Signal(type=NEED_TURN, confidence=confidence)


@pytest.mark.guarantee("C4")
def test_a_log_entry_keeps_200_characters() -> None:
    assert MalformedSignal(text="x" * 201, problem="p").text == "x" * 200
