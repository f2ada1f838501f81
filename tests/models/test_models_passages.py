"""Passages are found in whatever tools print, as long as it cites places."""

from __future__ import annotations

import time

import pytest

from endstop.models.keywords import Keyword
from endstop.models.passages import Passage, passages_in, ranked

LOGIN = Keyword(text="login", is_name=True)
COOKIE = Keyword(text="cookie")


def test_a_place_above_numbered_lines() -> None:
    code = "src/login.py:12\n10  import os\n11  \n12  def login():\n13      pass"
    text = f"{code}\n\nREADME.md:3 Usage > Login\n3  # Login"

    assert passages_in(text) == [
        Passage(path="src/login.py", first_line=10, lines=("import os", "", "def login():", "    pass")),
        Passage(path="README.md", first_line=3, lines=("# Login",), heading="Usage > Login"),
    ]


@pytest.mark.parametrize("place", ["my notes/a file.md", "Makefile", "vault:notes/a.md", "vault:a b.md"])
def test_paths_of_all_kinds_above_numbered_lines(place: str) -> None:
    assert passages_in(f"{place}:3\n3  text\n4  more") == [
        Passage(path=place, first_line=3, lines=("text", "more"))
    ]


def test_lines_as_grep_prints_them_are_joined() -> None:
    text = "src/a.py:7: def login():\nsrc/a.py:8:     return 1\nsrc/b.py:1:login()"

    assert passages_in(text) == [
        Passage(path="src/a.py", first_line=7, lines=("def login():", "return 1")),
        Passage(path="src/b.py", first_line=1, lines=("login()",)),
    ]


@pytest.mark.parametrize(
    "line", ["- src/a.py:7 login", "1. `src/a.py:7` login", "**src/a.py:7** login", "src/a.py:7-9: login"]
)
def test_places_may_be_dressed_up(line: str) -> None:
    assert passages_in(line) == [Passage(path="src/a.py", first_line=7, lines=("login",))]


def test_what_was_read_has_the_place_that_was_asked_for() -> None:
    text = "src/a.py, lines 5 to 6 of 90\n5  login()\n6  done()\n(84 more lines)"

    assert passages_in(text, path="src/a.py", first_line=5) == [
        Passage(path="src/a.py", first_line=5, lines=("login()", "done()"))
    ]


def test_lines_without_numbers_begin_where_they_were_asked_for() -> None:
    assert passages_in("login()\ndone()\n\n", path="src/a.py", first_line=40) == [
        Passage(path="src/a.py", first_line=40, lines=("login()", "done()"))
    ]


@pytest.mark.parametrize(
    "text", ["", "Nothing found.", "It is 12:30 now", "see http://x.org:80 for more", "a:b:c"]
)
def test_text_without_places_has_no_passages(text: str) -> None:
    assert passages_in(text) == []


def test_the_passage_with_most_of_the_words_comes_first() -> None:
    both = Passage(path="a.py", first_line=1, lines=("login sets a cookie",))
    one = Passage(path="b.py", first_line=1, lines=("login",))
    none = Passage(path="c.py", first_line=1, lines=("nothing",))

    found = ranked([none, one, both], [LOGIN, COOKIE])

    assert [each.passage.path for each in found] == ["a.py", "b.py"]
    assert found[0].found == {"login", "cookie"}


def test_a_definition_comes_before_a_use() -> None:
    use = Passage(path="a.py", first_line=1, lines=("x = login()",))
    definition = Passage(path="b.py", first_line=1, lines=("def login():",))

    assert [each.passage.path for each in ranked([use, definition], [LOGIN])] == ["b.py", "a.py"]


def test_a_long_passage_is_cut_to_where_the_words_are() -> None:
    lines = tuple("login here" if number == 50 else f"line {number}" for number in range(1, 101))

    (found,) = ranked([Passage(path="a.py", first_line=1, lines=lines)], [LOGIN])

    assert found.passage.place == "a.py:48"
    assert len(found.passage.lines) == 14


def test_the_same_lines_are_not_shown_twice() -> None:
    read = Passage(path="a.py", first_line=1, lines=("x", "login", "y"))
    hit = Passage(path="a.py", first_line=2, lines=("login",))

    assert [each.passage for each in ranked([read, hit], [LOGIN])] == [read]


def test_a_place_counts_by_its_name_alone() -> None:
    assert [each.passage.path for each in ranked([Passage(path="login.py", first_line=1)], [LOGIN])] == [
        "login.py"
    ]


@pytest.mark.parametrize("junk", ["/", "a:1 ", "./:", "1  ", "\n", "a.py:1\n", "a.py:1\n1  x\n"])
def test_no_text_takes_long(junk: str) -> None:
    started_s = time.perf_counter()
    ranked(passages_in(junk * 50_000), [LOGIN, COOKIE])

    assert time.perf_counter() - started_s < 1
