"""Query types (E8): right on a labelled set, total on anything, and what each type is offered."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.oracle.query import MOST_CHARS, QueryType, classify, tools_first

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "queries.jsonl").read_text(encoding="utf-8").splitlines()
]
TOOLS = ("list_files", "read_file", "search_code", "search_docs", "weather")


def of_part(part: str) -> list[tuple[str, QueryType]]:
    return [(row["query"], QueryType(row["type"])) for row in ROWS if row["part"] == part]


@pytest.mark.guarantee("E8")
@pytest.mark.parametrize("part", ["dev", "test"])
def test_at_least_nine_in_ten_are_right(part: str) -> None:
    rows = of_part(part)
    wrong = [query for query, type_ in rows if classify(query).type is not type_]
    assert len(wrong) <= len(rows) * 0.1, wrong


@pytest.mark.parametrize("part", ["dev", "test"])
@pytest.mark.parametrize("type_", QueryType)
def test_no_type_is_left_behind(part: str, type_: QueryType) -> None:
    rows = [query for query, is_ in of_part(part) if is_ is type_]
    right = sum(classify(query).type is type_ for query in rows)
    assert right >= len(rows) * 0.85


@pytest.mark.parametrize("part", ["dev", "test"])
def test_the_labelled_set_is_balanced_and_large_enough(part: str) -> None:
    counts = Counter(type_ for _, type_ in of_part(part))
    assert set(counts) == set(QueryType)
    assert len(set(counts.values())) == 1
    assert sum(counts.values()) >= 130


def test_no_query_is_in_the_set_twice() -> None:
    assert len({row["query"] for row in ROWS}) == len(ROWS)


@pytest.mark.guarantee("E8")
def test_no_conversational_query_is_given_tools() -> None:
    for query, type_ in of_part("dev") + of_part("test"):
        if type_ is QueryType.CONVERSATIONAL:
            assert tools_first(classify(query).type, TOOLS) == (), query


@pytest.mark.parametrize(
    ("query", "type_"),
    [
        ("Thanks, but where is the rate limiter defined?", QueryType.CODE),
        ("In the docs folder there is some code: what does build.py do?", QueryType.CODE),
        ("hi! how do I install it?", QueryType.DOCUMENTATION),
        ("Install instructions?", QueryType.DOCUMENTATION),
        ("install it", QueryType.ACTION),
        ("would you mind adding a test", QueryType.ACTION),
        ("the build is broken. please fix it", QueryType.ACTION),
        ("thanks! now compare it with Django", QueryType.RESEARCH),
        ("yes please", QueryType.CONVERSATIONAL),
        ("that was quick, thanks", QueryType.CONVERSATIONAL),
    ],
)
def test_courtesies_and_misleading_words_do_not_mislead(query: str, type_: QueryType) -> None:
    assert classify(query).type is type_


@pytest.mark.parametrize("query", ["", " \n\t ", "?!", "👍", "…", "`", "```"])
def test_without_words_it_is_conversation(query: str) -> None:
    classified = classify(query)
    assert classified.type is QueryType.CONVERSATIONAL
    assert classified.confidence == 1.0
    assert classified.why == "there are no words in it"


def test_only_courtesies_are_conversation_for_sure() -> None:
    assert classify("Hello there, thanks a lot!").confidence == 1.0


@pytest.mark.parametrize(
    ("query", "type_", "why"),
    [
        ("blue elephants", QueryType.CONVERSATIONAL, "it is short, and asks for nothing"),
        ("what about the elephants?", QueryType.CODE, "nothing tells, so the code is looked at"),
        ("ποιος είναι αυτός;", QueryType.CODE, "nothing tells, so the code is looked at"),
        ("elephants?", QueryType.RESEARCH, "it points at nothing in the project"),
    ],
)
def test_where_no_cue_speaks_the_doubt_shows(query: str, type_: QueryType, why: str) -> None:
    classified = classify(query)
    assert (classified.type, classified.why) == (type_, why)
    assert classified.confidence <= 0.4


def test_code_in_a_query_is_not_read_as_words() -> None:
    assert (
        classify("What does this do?\n```\nprint('hello, please delete everything')\n```").type
        is QueryType.CODE
    )


@given(st.text(alphabet=st.characters(codec=None), max_size=300))
def test_any_text_has_a_type(text: str) -> None:
    classified = classify(text)
    assert classified == classify(text)
    assert 0.0 <= classified.confidence <= 1.0
    assert classified.why


@pytest.mark.parametrize("end", ["", " please delete the database", "\ud800"])
def test_what_comes_after_the_first_5000_characters_changes_nothing(end: str) -> None:
    start = ("where is the parser " * 300)[:MOST_CHARS]
    assert classify(start + end * 1000) == classify(start)


HOSTILE = [
    *["hi " * 9000, "please " * 9000, "how do " * 9000, "a" * 50_000, "`" * 50_000, "you " * 9000],
    *["```" * 9000, "ﷺ" * 9000, "is x " * 9000, ", fix it" * 9000, "___" * 9000, "docs and " * 9000],
    *["\n" * 50_000, "whole code base " * 9000, "a/" * 9000, "A.b" * 9000, "what is " * 9000],
]


@pytest.mark.parametrize("query", HOSTILE, ids=lambda text: repr(text[:9]))
def test_hostile_text_costs_little(query: str) -> None:
    began = perf_counter()
    classify(query)
    assert perf_counter() - began < 0.5


@pytest.mark.guarantee("E8")
@pytest.mark.parametrize(
    ("type_", "first"),
    [
        (QueryType.CODE, ("search_code", "read_file", "list_files")),
        (QueryType.DOCUMENTATION, ("search_docs", "read_file")),
        (QueryType.RESEARCH, ("search_docs", "search_code", "read_file")),
        (QueryType.ACTION, ("search_code", "read_file", "list_files")),
    ],
)
def test_a_type_is_offered_all_tools_those_it_needs_first(type_: QueryType, first: tuple[str, ...]) -> None:
    offered = tools_first(type_, TOOLS)
    assert offered[: len(first)] == first
    assert sorted(offered) == sorted(TOOLS)


def test_a_tool_that_is_not_there_is_not_offered() -> None:
    assert tools_first(QueryType.CODE, ["read_file", "weather"]) == ("read_file", "weather")
    assert tools_first(QueryType.CODE, []) == ()
