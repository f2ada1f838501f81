"""Expressions over the blackboard: what they mean, what is refused, and that they never raise or run on."""

import operator
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError
from endstop.tree.expression import MOST_CHARS, MOST_DEPTH, RESERVED, parse

BOARD: dict[str, object] = {
    "turn": 4,
    "share": 0.5,
    "name": "oracle",
    "is_done": False,
    "is_new": True,
    "nothing": None,
    "empty": "",
    "zero": 0,
    "phases": ["plan", "build", 3, True, None],
    "signal": {"type": "done", "count": 2, "deep": {"er": "x"}},
    "huge": 10**40,
    "not_a_number": float("nan"),
    "odd": object(),
}


def holds(text: str) -> bool:
    return parse(text).holds(BOARD.__getitem__)


@pytest.mark.parametrize(
    "text",
    [
        "turn == 4",
        "turn == 4.0",
        "turn ~= 5",
        "turn != 5",
        "turn < 5 and turn <= 4 and turn > 3 and turn >= 4",
        "share < turn",
        "name == 'oracle'",
        'name == "oracle"',
        "name < 'z'",
        "is_new",
        "not is_done",
        "not not is_new",
        "is_done or is_new",
        "nothing == nil",
        "not nothing",
        "name",
        "zero",
        "empty",
        "true",
        "turn + 1 == 5",
        "turn - 1 - 1 == 2",
        "2 + turn * 2 == 10",
        "(2 + turn) * 2 == 12",
        "turn / 8 == share",
        "8 / 2 / 2 == 2",
        "-turn == 0 - 4",
        "- -turn == 4",
        "turn == 4e0",
        "share == 5e-1",
        "#phases == 5",
        "#name == 6",
        "#signal == 3",
        "#phases - 1 == turn",
        "'plan' in phases",
        "3 in phases",
        "3.0 in phases",
        "true in phases",
        "nil in phases",
        "not (1 in phases)",
        "not ('x' in phases)",
        "signal.type == 'done'",
        "signal.deep.er == 'x'",
        "not (signal.type in phases)",
        "signal.other == nil",
        "nothing or is_new",
        "(nothing or 3) == 3",
        "(is_new and name) == 'oracle'",
        "is_done or is_done or is_new",
        "is_new or turn > 'x'",
        "not (is_done and turn > 'x')",
        "nothing == nil or nothing > 3",
        r"""'it\'s "so"\n' ~= "\t\\" """,
        "\tturn\n==\r\n4 ",
    ],
)
def test_what_is_true_holds(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "turn == 5",
        "turn ~= 4",
        "is_done",
        "nothing",
        "nil",
        "false",
        "not is_new",
        "is_new and is_done",
        "true == 1",
        "is_new == 1",
        "name == 4",
        "turn == '4'",
        "nothing == false",
        "phases == nil",
        "1 in phases",
        "signal == name",
    ],
)
def test_what_is_false_does_not_hold(text: str) -> None:
    assert not holds(text)


@pytest.mark.parametrize(
    "unknown",
    [
        "missing",
        "missing == nil",
        "missing.entry == nil",
        "nothing.entry == nil",
        "name.entry == nil",
        "turn > 'x'",
        "name > 3",
        "nothing > 3",
        "is_new > 0",
        "turn / 0 == 1",
        "turn / zero == 1",
        "turn + name == 1",
        "turn + is_new == 5",
        "-name == 1",
        "-is_new == 1",
        "#turn == 1",
        "#nothing == 0",
        "turn in turn",
        "'o' in name",
        "'type' in signal",
        "phases in phases",
        "phases == phases",
        "signal == signal",
        "phases == signal",
        "huge > 1",
        "huge + 1 == 1",
        "not_a_number > 1",
        "not_a_number + 1 == 1",
        "1e15 * 10 > 1",
        "1e15 + 1e15 > 1",
        "odd > 1",
        "odd == odd",
        "(turn > 'x') == false",
        "is_done or turn > 'x'",
        "is_new and turn > 'x'",
    ],
)
def test_what_cannot_be_known_makes_the_whole_false_also_under_not(unknown: str) -> None:
    assert not holds(unknown)
    assert not holds(f"not ({unknown})")
    assert not holds(f"not (not ({unknown}))")


def test_numbers_up_to_the_most_are_reckoned_with() -> None:
    assert holds("1e15 > 1")
    assert holds("1000000000000000 == 1e15")


def test_a_board_that_raises_makes_it_false() -> None:
    def broken(key: str) -> object:
        raise RuntimeError(key)

    assert not parse("turn == nil").holds(broken)


def test_a_value_that_raises_when_it_is_looked_at_makes_it_false() -> None:
    class Nasty(dict[str, object]):
        def get(self, *_: object) -> object:
            raise RuntimeError

    assert not parse("turn.entry == nil").holds(lambda _: Nasty())


def test_and_and_or_do_not_look_at_what_no_longer_matters() -> None:
    looked: list[str] = []

    def get(key: str) -> object:
        looked.append(key)
        return BOARD[key]

    assert parse("is_new or turn").holds(get)
    assert not parse("is_done and turn").holds(get)
    assert looked == ["is_new", "is_done"]


def test_the_keys_are_those_at_the_top() -> None:
    assert parse("signal.type == 'x.y' and #phases > turn or not (name in phases)").keys == {
        "signal",
        "phases",
        "turn",
        "name",
    }


def test_the_text_is_kept() -> None:
    assert parse(" turn  > 3").text == " turn  > 3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "a key, a number, a text, true, false, nil or ( at character 1, where the end stands"),
        ("turn >", "nil or ( at character 7, where the end stands"),
        ("turn = 4", "operator at character 6, where = stands"),
        ("turn  & 4", "operator at character 7, where & stands"),
        ("1 < turn < 5", "(write a < b and b < c) at character 10, where < stands"),
        ("not turn == 4", "(for a comparison write not (a == b)) at character 10, where == stands"),
        ("not turn in phases", "not (a == b)) at character 10, where in stands"),
        ("turn == not is_done", "or ( at character 9, where not stands"),
        ("turn name", "an operator or the end at character 6, where name stands"),
        ("(turn", ") or an operator at character 6, where the end stands"),
        ("turn)", "an operator or the end at character 5, where ) stands"),
        ("signal.", "the name of an entry at character 8, where the end stands"),
        ("signal.3", "the name of an entry at character 8, where 3 stands"),
        ("f(1)", "an operator or the end at character 2, where ( stands"),
        ("'open", "a text in quotes or an operator at character 1, where ' stands"),
        (r"'\x41'", r"no escapes but \n \t \\ \" \' at character 1"),
        ("1e16", "a number up to 1,000,000,000,000,000 at character 1, where 1e16 stands"),
        ("9" * 500, "a number up to 1,000,000,000,000,000 at character 1"),
        ("3x", "operator at character 1, where 3 stands"),
        ("1.2.3", "operator at character 1, where 1 stands"),
        ("and", "nil or ( at character 1, where and stands"),
        ("turn == \u00a04", "operator at character 9"),
        ("für", "operator at character 2, where ü stands"),
        ("[1]", "operator at character 1, where [ stands"),
        ("turn ^ 9", "operator at character 6, where ^ stands"),
        ("turn .. name", "the name of an entry at character 7, where . stands"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        parse(text)
    assert expected in refused.value.allowed


@pytest.mark.parametrize("text", ["x" * (MOST_CHARS + 1), None, 3])
def test_only_short_text_is_read(text: Any) -> None:
    with pytest.raises(InvalidValueError, match="at most 1,000 characters"):
        parse(text)


@pytest.mark.parametrize("opening", ["(", "not ", "-", "#"])
def test_nesting_is_bounded(opening: str) -> None:
    closing = ")" if opening == "(" else ""
    assert parse(opening * MOST_DEPTH + "turn" + closing * MOST_DEPTH).keys == {"turn"}
    with pytest.raises(InvalidValueError, match="at most 50 levels"):
        parse(opening * (MOST_DEPTH + 1) + "turn" + closing * (MOST_DEPTH + 1))


@pytest.mark.parametrize("sign", ["+", "*", "-", " and ", " or "])
def test_a_long_chain_is_not_a_deep_one(sign: str) -> None:
    chain = sign.join(["1"] * ((MOST_CHARS - 10) // (1 + len(sign))))
    assert parse(f"({chain}) ~= nil").holds(BOARD.__getitem__)


def test_the_longest_products_take_no_time() -> None:
    longest = parse("*".join(["99999"] * 160) + " > 1")
    begun = time.perf_counter()
    assert not longest.holds(BOARD.__getitem__)
    assert time.perf_counter() - begun < 1


SIGNS = [*"<>+-*/#().", "==", "~=", "!=", "<=", ">=", "'x'", '"', "1", "0.5", "1e3"]
PIECES = st.sampled_from([*BOARD, *RESERVED, *SIGNS, "missing"])


@given(st.text(max_size=60) | st.lists(PIECES, max_size=30).map(" ".join))
def test_no_text_raises_anything_but_the_refusal_and_nothing_raises_when_asked(text: str) -> None:
    try:
        expression = parse(text)
    except InvalidValueError:
        return
    assert expression.holds(BOARD.__getitem__) in (True, False)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["b", "c"]), inner),
    max_leaves=6,
)
SIMPLE_TEXTS = st.recursive(
    st.sampled_from(["a", "a.b", "x", "x.b.c", "1", "'t'", "nil", "true", "gone"]),
    lambda inner: (
        st.tuples(
            inner, st.sampled_from(["==", "~=", "<", ">=", "+", "-", "*", "/", "in", "and", "or"]), inner
        ).map(lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})")
        | inner.map(lambda one: f"#({one})")
        | inner.map(lambda one: f"not ({one})")
        | inner.map(lambda one: f"-({one})")
    ),
    max_leaves=8,
)


@given(SIMPLE_TEXTS, PLAIN, PLAIN)
def test_nothing_on_a_board_makes_an_expression_raise(text: str, a: object, x: object) -> None:
    assert parse(text).holds({"a": a, "x": x}.__getitem__) in (True, False)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "~=": operator.ne,
    "and": lambda first, second: first and second,
    "or": lambda first, second: first or second,
}

Answer = tuple[str, Any]
NUMBERS: st.SearchStrategy[Answer] = st.recursive(
    st.integers(0, 9).map(lambda n: (str(n), n)) | st.just(("turn", 4)) | st.just(("share", 0.5)),
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*"), inner).map(
            lambda parts: (
                f"({parts[0][0]} {parts[1]} {parts[2][0]})",
                OPERATORS[parts[1]](parts[0][1], parts[2][1]),
            )
        )
        | inner.map(lambda one: (f"(-{one[0]})", -one[1]))
    ),
    max_leaves=6,
)
TRUTHS: st.SearchStrategy[Answer] = st.recursive(
    st.tuples(NUMBERS, st.sampled_from(["<", "<=", ">", ">=", "==", "~="]), NUMBERS).map(
        lambda parts: (
            f"{parts[0][0]} {parts[1]} {parts[2][0]}",
            OPERATORS[parts[1]](parts[0][1], parts[2][1]),
        )
    ),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: (
                f"({parts[0][0]}) {parts[1]} ({parts[2][0]})",
                OPERATORS[parts[1]](parts[0][1], parts[2][1]),
            )
        )
        | inner.map(lambda one: (f"not ({one[0]})", not one[1]))
    ),
    max_leaves=6,
)


@given(TRUTHS)
def test_well_typed_expressions_agree_with_plain_reckoning(made: Answer) -> None:
    text, answer = made
    if len(text) <= MOST_CHARS:
        assert holds(text) is answer


@given(st.lists(st.sampled_from(["+", "-", "*"]), min_size=1, max_size=12), st.data())
def test_operators_bind_as_in_school(signs: list[str], data: st.DataObject) -> None:
    numbers = [data.draw(st.integers(0, 9)) for _ in range(len(signs) + 1)]
    text = str(numbers[0]) + "".join(f" {sign} {n}" for sign, n in zip(signs, numbers[1:], strict=True))
    value: int = eval(text)  # the same text in Python: nothing but digits and three signs
    assert holds(f"{text} == {value}" if value >= 0 else f"{text} == -{-value}") is (abs(value) <= 10**15)
