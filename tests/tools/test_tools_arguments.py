"""Arguments as models write them: read if there is no doubt, else refused in words that help."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from endstop.errors import ToolArgumentsError
from endstop.tools import tool
from endstop.tools.schema import Arguments, read_object


class Edit(BaseModel):
    line: int
    text: str = ""


def even(value: int) -> int:
    if value % 2:
        raise ValueError("an odd number will not do")
    return value


@tool
def change(
    path: str,
    count: Annotated[int, Field(ge=1, le=50)] = 1,
    ratio: float = 0.5,
    force: bool = False,
    mode: Literal["add", "replace"] = "add",
    edits: list[Edit] | None = None,
    pair: Annotated[int, AfterValidator(even)] = 2,
) -> None:
    """Change a file."""


def read(text: str) -> dict[str, Any]:
    return change._arguments.read(text)  # pyright: ignore[reportPrivateUsage]


def complaint(text: str) -> str:
    with pytest.raises(ToolArgumentsError) as caught:
        read(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "understood"),
    [
        ('{"path": "a"}', {"path": "a"}),
        ('{"path": "a", "count": "5"}', {"path": "a", "count": 5}),
        ('{"path": "a", "count": 5.0}', {"path": "a", "count": 5}),
        ('{"path": "a", "ratio": 1}', {"path": "a", "ratio": 1.0}),
        ('{"path": "a", "ratio": "0.25"}', {"path": "a", "ratio": 0.25}),
        ('{"path": "a", "force": "true"}', {"path": "a", "force": True}),
        ('{"path": "a", "force": "False"}', {"path": "a", "force": False}),
        ('{"path": 404}', {"path": "404"}),
        ('{"path": "a", "count": null, "mode": null}', {"path": "a"}),
        ('{"path": "a", "edits": null}', {"path": "a", "edits": None}),
        ('{"path": "a", "edits": "[{\\"line\\": 1}]"}', {"path": "a", "edits": [Edit(line=1)]}),
        ('{"path": "a", "edits": [{"line": "7"}]}', {"path": "a", "edits": [Edit(line=7)]}),
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}),
        (' \n{"path": "a"}\n', {"path": "a"}),
    ],
)
def test_slips_that_leave_no_doubt_are_put_right(written: str, understood: dict[str, Any]) -> None:
    assert read(written) == understood


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('{"path": "a", "count": false}', "count is false, but should be a valid integer"),
        ('{"path": "a", "count": 5.5}', "count is 5.5, but should be a valid integer"),
        ('{"path": "a", "count": "many"}', 'count is "many", but should be a valid integer'),
        ('{"path": "a", "count": "true"}', 'count is "true", but should be a valid integer'),
        ('{"path": "a", "count": "[1]"}', 'count is "[1]", but should be a valid integer'),
        ('{"path": "a", "count": 51}', "count is 51, but should be less than or equal to 50"),
        ('{"path": "a", "force": 1}', "force is 1, but should be a valid boolean"),
        ('{"path": true}', "path is true, but should be a valid string"),
        ('{"path": null}', "path is null, but should be a valid string"),
        ('{"path": "a", "mode": "delete"}', "mode is \"delete\", but should be 'add' or 'replace'"),
        ('{"path": "a", "pair": 3}', "pair is 3, but an odd number will not do"),
        ('{"path": "a", "edits": [{"line": 1}, {}]}', "edits.1.line is missing"),
        ('{"path": "a", "edits": 5}', "edits is 5, but should be a valid array"),
        ('{"count": 2}', "path is missing"),
        ("{}", "path is missing"),
        ("", "path is missing"),
        ("null", "path is missing"),
        ("[1]", "they should be a JSON object, not [1]"),
        ('"hello"', 'they should be a JSON object, not "hello"'),
        ('{"path": "a", "cuont": 1}', "there is no argument cuont (probably count was meant)"),
        ('{"path": "a", "zzz": 1}', "there is no argument zzz."),
        ('{"path": "a", "ratio": NaN, "count": NaN}', "count is NaN, but should be a valid integer"),
    ],
)
def test_anything_else_is_refused_with_what_is_wrong(written: str, words: str) -> None:
    said = complaint(written)
    assert words in said
    assert "Allowed: path (string, required), count (integer)" in said
    assert 'Call it again, such as {"path": "...", "count": 1, "ratio": 0.5}.' in said


def test_all_problems_are_told_at_once() -> None:
    said = complaint('{"count": "x", "force": 2, "mode": "z", "extra": 1}')
    for name in ("path is missing", "count is", "force is", "mode is", "no argument extra"):
        assert name in said


def test_of_very_many_problems_the_first_are_told_and_the_rest_counted() -> None:
    said = complaint(json.dumps({"path": "a", **{f"unknown{number}": 1 for number in range(200)}}))
    assert "and 190 more problems" in said
    assert len(said) < 2_000


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('{"path": "a", ', "line 1, column 14, near"),
        ('{"path": "a"\n "count": 2}', 'line 2, column 2, near " \\"count\\": 2}"'),
        ("{'path': 'a'}", "line 1, column 2"),
        ("path=a", "line 1, column 1"),
        ('{"path": "\\ud800"}', "hex escape"),
        ('{"path": "\ud800"}', "not JSON"),
        ("[" * 10_000, "recursion limit"),
    ],
)
def test_broken_json_says_where_it_breaks(written: str, words: str) -> None:
    said = complaint(written)
    assert "The arguments of change are not JSON: " in said
    assert words in said
    assert len(said) < 500


def test_megabytes_of_arguments_are_refused_shortly_and_at_once() -> None:
    huge = '{"path": "' + "x" * 20_000_000 + '"}'
    before = time.perf_counter()
    said = complaint(huge)
    assert time.perf_counter() - before < 0.1
    assert said == (
        "The arguments of change are 20,000,012 characters long. Allowed: at most 500,000 characters. "
        "Say it in less, or do it in several calls."
    )


def test_a_long_value_is_shown_in_part_only() -> None:
    assert len(complaint(json.dumps({"path": "a", "count": "9x" * 100_000}))) < 500


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=8)
)
def test_whatever_json_it_gets_it_reads_it_or_says_what_is_wrong(value: Any) -> None:
    for text in (json.dumps(value), json.dumps({"path": value, "count": value, "edits": value})):
        with contextlib.suppress(ToolArgumentsError):
            read(text)


@given(st.text(max_size=50))
def test_whatever_text_it_gets_it_reads_it_or_says_what_is_wrong(text: str) -> None:
    with pytest.raises(ToolArgumentsError):
        read(text)


def test_examples_fit_the_schema_they_are_for() -> None:
    @tool
    def nested(
        edit: Edit,
        edits: list[Edit],
        either: int | str,
        fixed: Literal["only"],
        shown: Annotated[str, Field(examples=["like this"])],
        yes: bool,
        rest: dict[str, int],
        nothing: None,
        whatever: Any,
    ) -> None: ...

    arguments: Arguments = nested._arguments  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ToolArgumentsError) as caught:
        arguments.read("{}")
    example = caught.value.to_do.partition("such as ")[2]
    assert arguments.read(example)["edit"] == Edit(line=1)
    assert '"shown": "like this"' in example


def test_a_tool_that_checks_by_itself_gets_any_object_and_nothing_else() -> None:
    assert read_object("far", '{"a": [1]}', {}) == {"a": [1]}
    assert read_object("far", " ", {}) == {}
    with pytest.raises(ToolArgumentsError, match="are not JSON"):
        read_object("far", "{", {})
    with pytest.raises(ToolArgumentsError, match="should be a JSON object"):
        read_object("far", "[]", {})
    with pytest.raises(ToolArgumentsError, match="characters long"):
        read_object("far", " " * 600_000, {})
