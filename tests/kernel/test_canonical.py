"""One form for things that mean the same."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endstop.kernel.canonical import (
    action_key,
    canonical_arguments,
    canonical_error,
    digest,
    error_key,
    fingerprint,
    fold_text,
    squash_space,
)
from endstop.kernel.limits import LimitKind

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"

SAME_ARGUMENTS: list[tuple[str, object, object]] = [
    ("key order", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("key order below", {"x": {"a": 1, "b": [2]}}, {"x": {"b": [2], "a": 1}}),
    ("white space", {"q": "red  shoes"}, {"q": " red\nshoes\t"}),
    ("no-break space", {"q": "red shoes"}, {"q": "red\u00a0shoes"}),
    ("white space in keys", {" q": 1}, {"q ": 1}),
    ("Unicode form", {"q": COMPOSED}, {"q": DECOMPOSED}),
    ("Unicode form of keys", {COMPOSED: 1}, {DECOMPOSED: 1}),
    ("1 and 1.0", {"n": 1}, {"n": 1.0}),
    ("1 and Decimal", {"n": 1}, {"n": Decimal("1.00")}),
    ("0 and -0.0", {"n": 0}, {"n": -0.0}),
    ("float and Decimal", {"n": 0.5}, {"n": Decimal("0.50")}),
    ("JSON text", {"a": 1, "b": [1, 2]}, '{ "b": [1.0, 2], "a": 1 }'),
    ("JSON list", [1, {"a": 2}], '[1, {"a": 2.0}]'),
    ("JSON text in other order", '{"a":1,"b":2}', '\n{"b": 2,\n "a": 1}'),
    ("broken JSON", '{"a": 1', '{"a":  1 '),
    ("tuple and list", (1, 2), [1, 2]),
    ("a kind of text", {"q": LimitKind.TURNS}, {"q": "turns"}),
    ("sets", {3, 1, 2}, frozenset({2, 3, 1})),
    ("infinity", {"n": float("inf")}, '{"n": Infinity}'),
]

OTHER_ARGUMENTS: list[tuple[str, object, object]] = [
    ("true and 1", {"x": True}, {"x": 1}),
    ("text and number", {"x": "1"}, {"x": 1}),
    ("null and absent", {"x": None}, {}),
    ("null and text", {"x": None}, {"x": "null"}),
    ("empty text and absent", {"x": ""}, {}),
    ("case", {"x": "Login"}, {"x": "login"}),
    ("order of a list", [1, 2], [2, 1]),
    ("close numbers", {"x": 1}, {"x": 1.0000001}),
    ("numbers no float can tell apart", {"x": 2**53}, {"x": 2**53 + 1}),
    ("huge numbers", {"x": 2**64}, {"x": 2**64 + 1}),
    ("sign of infinity", {"x": float("inf")}, {"x": float("-inf")}),
    ("list and text of it", {"x": [1]}, {"x": "[1]"}),
    ("text that is no object", '"a"', "a"),
    ("objects of other classes", {"x": object()}, {"x": Exception()}),
]


@pytest.mark.guarantee("B1")
@pytest.mark.parametrize(
    ("first", "second"), [case[1:] for case in SAME_ARGUMENTS], ids=[c[0] for c in SAME_ARGUMENTS]
)
def test_arguments_that_mean_the_same_have_one_key(first: object, second: object) -> None:
    assert canonical_arguments(first) == canonical_arguments(second)
    assert action_key("tool", first) == action_key(" tool ", second)


@pytest.mark.guarantee("B1")
@pytest.mark.parametrize(
    ("first", "second"), [case[1:] for case in OTHER_ARGUMENTS], ids=[c[0] for c in OTHER_ARGUMENTS]
)
def test_arguments_that_differ_have_two_keys(first: object, second: object) -> None:
    assert action_key("tool", first) != action_key("tool", second)


def test_another_tool_is_another_action() -> None:
    assert action_key("read", {"a": 1}) != action_key("write", {"a": 1})


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (float("nan"), '"#nan"'),
        (2**63, '"#0x8000000000000000"'),
        (1e300, '"#1e+300"'),
        (Decimal("1e40"), '"#1E+40"'),
        (bytearray(b"ab"), canonical_arguments(b"ab")),
        (Unshowable(), '"!Unshowable:cannot be shown: RuntimeError"'),
        ({Unshowable(): 1}, '"!dict:cannot be shown: RuntimeError"'),
        (Decimal("sNaN"), '"#sNaN"'),
    ],
)
def test_odd_values_have_a_form_too(value: object, expected: str) -> None:
    assert canonical_arguments(value) == expected


def test_an_object_is_compared_without_its_address() -> None:
    assert canonical_arguments(object()) == canonical_arguments(object()) == '"!object:<object object at ~>"'


def test_arguments_nested_without_end_are_compared_by_their_text() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert "!list" in canonical_arguments(endless)
    assert canonical_arguments("[" * 100_000) == json.dumps("[" * 100_000)


class OwnMapping(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return {"b": 2, "a": 1}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(["b", "a"])

    def __len__(self) -> int:
        return 2


def test_any_mapping_counts_as_one() -> None:
    assert canonical_arguments(OwnMapping()) == '{"a":1,"b":2}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(json_values)
def test_the_form_is_stable_whatever_the_arguments(value: object) -> None:
    text = canonical_arguments(value)
    assert canonical_arguments(value) == text
    assert isinstance(json.loads(text), type(None) | bool | int | float | str | list | dict)


@settings(deadline=None)
@given(st.dictionaries(st.text(alphabet="abc", min_size=1), st.integers(-9, 9), min_size=1))
def test_key_order_and_json_text_never_count(value: dict[str, int]) -> None:
    turned = dict(reversed(value.items()))
    assert (
        canonical_arguments(value)
        == canonical_arguments(turned)
        == canonical_arguments(json.dumps(turned, indent=2))
    )


@settings(deadline=None)
@given(st.text())
def test_folding_is_idempotent_enough_to_compare(text: str) -> None:
    assert squash_space(squash_space(text)) == squash_space(text)
    assert fold_text(f"  {text}\n") == fold_text(text)


def test_folding_drops_case_white_space_and_unicode_form() -> None:
    assert squash_space(f" A\t{DECOMPOSED}  b ") == f"A {COMPOSED} b"
    assert fold_text("STRASSE\n12") == fold_text("straße 12")


def test_digests_are_short_and_the_same_everywhere() -> None:
    assert digest("a") == "1ba3c523e770f3313cc91ab1"
    assert digest("\ud800") != digest("\ud801")


SAME_ERRORS: list[tuple[str, list[str]]] = [
    (
        "time stamps",
        [
            "2031-01-02T03:04:05Z refused",
            "2031-01-02 03:04:05,123 refused",
            "2031/1/2 3:04 refused",
            "20310102T030405Z refused",
            "2031-01-02T03:04:05.250+01:00 refused",
            "1930000000 refused",
            "1930000000.25 refused",
            "1930000000123 refused",
        ],
    ),
    ("times of day", ["at 12:01 refused", "at 3:59:01.5 refused", "at 11:12 PM refused"]),
    (
        "dates in words",
        ["Fri, 31 Jan 2031: no", "Monday 3 March 2031: no", "May 5, 2031: no", "31-Dec-2030: no"],
    ),
    ("dates of logs", ["[31/Jan/2031:23:59:59] no", "[01/02/2031] no"]),
    (
        "durations",
        [
            "after 5 s",
            "after 5.25 seconds",
            "after 12ms",
            "after 3 µs",
            "after 1m30s",
            "after 1h 2m 3s",
            "after 2 days",
            "after 1e-05s",
            "after 4 min",
        ],
    ),
    ("durations without a unit", ['{"elapsed": 0.53}', '{"elapsed": 12}', '{"elapsed": 7ms}']),
    ("addresses in memory", ["<C at 0x7f00aa>", "<C at 0X7F00BB>"]),
    ("addresses in the network", ["from 10.0.0.4:50112", "from 10.0.0.5:7", "from 127.0.0.1"]),
    (
        "UUIDs",
        ["job 6f1c9a52-0c1d-4b8e-9f00-aa11bb22cc33", "job 6F1C9A52-0C1D-4B8E-9F00-AA11BB22CC34"],
    ),
    ("digests", ["layer 3f2a9c0d1e4b missing", "layer aa00bb11cc22dd33 missing"]),
    ("request ids", ["busy (request id: 81-jx)", "busy (Request_ID = 92ab)", "busy (request-id:zz)"]),
    ("ids of a provider", ["busy req_011CSabcd", "busy req_022ZZefgh"]),
    ("processes", ["pid 12 died", "PID: 4711 died"]),
    ("temporary files", ["/tmp/tmpab12cd_4/x", "/tmp/tmpzz99_a0b/x"]),
    ("case and white space", ["Connection  refused", "connection refused\n"]),
]

OTHER_ERRORS: list[tuple[str, str, str]] = [
    ("words", "connection refused", "connection reset"),
    ("line numbers", "line 10: missing brace", "line 12: missing brace"),
    ("line and column", "a.c:10:15: missing brace", "a.c:12:15: missing brace"),
    ("line and column in words", "line 10:15 missing brace", "line 12:15 missing brace"),
    ("exit codes", "exit status 1", "exit status 2"),
    ("status codes", "HTTP 502", "HTTP 503"),
    ("counts", "2 tests failed", "1 tests failed"),
    ("dimensions", "expected 3d tensor", "expected 4d tensor"),
    ("sizes", "needs 3 MB", "needs 4 MB"),
    ("versions", "python 3.11 required", "python 3.12 required"),
    ("words with the name of a month", "mayor 5 not found", "mayor 6 not found"),
]


@pytest.mark.guarantee("B5")
@pytest.mark.parametrize("errors", [case[1] for case in SAME_ERRORS], ids=[case[0] for case in SAME_ERRORS])
def test_errors_that_differ_only_in_what_changes_anyway_have_one_key(errors: list[str]) -> None:
    assert len({canonical_error(error) for error in errors}) == 1
    assert len({error_key(error) for error in errors}) == 1


@pytest.mark.guarantee("B5")
@pytest.mark.parametrize(
    ("first", "second"), [case[1:] for case in OTHER_ERRORS], ids=[c[0] for c in OTHER_ERRORS]
)
def test_errors_that_say_something_else_have_two_keys(first: str, second: str) -> None:
    assert error_key(first) != error_key(second)


def test_a_long_error_is_the_same_though_a_time_in_it_is_shorter() -> None:
    trace = "frame in module\n" * 300
    assert error_key(f"after 9.9 s {trace}") == error_key(f"after 10.125 seconds {trace}")


@pytest.mark.parametrize(
    "piece", ["1", "1m ", "1.1,", "11111 m ", "0-", "1:11:", "1.1.1.", "a1", "f", "mon 1 "]
)
def test_no_text_makes_the_comparison_slow(piece: str) -> None:
    began = perf_counter()
    canonical_error(piece * 100_000)
    assert perf_counter() - began < 0.25


@pytest.mark.guarantee("B1")
def test_bytes_are_compared_byte_for_byte() -> None:
    assert canonical_arguments(b"Ab") != canonical_arguments(b"ab")
    assert canonical_arguments(b"x" * 5_000 + b"1") != canonical_arguments(b"x" * 5_000 + b"2")


@given(st.text(), st.text())
def test_fingerprints_are_equal_for_equal_texts_alone_and_never_long(one: str, other: str) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (one == other)
    long = one + "x" * 100
    assert fingerprint(long) == fingerprint("".join(long))
    assert len(fingerprint(long)) <= 64
