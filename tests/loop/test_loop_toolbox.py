"""The toolbox, and text made short."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import endstop.tools
from endstop.errors import InvalidValueError, UnknownToolError
from endstop.kernel.texts import readable, shortened
from endstop.loop.toolbox import Toolbox
from endstop.tools import tool


@tool
def read_file(path: str) -> str:
    return path


@tool
def list_files() -> str:
    return ""


def test_tools_are_found_by_name_and_told_in_their_order() -> None:
    box = Toolbox([read_file, list_files])
    assert box.get("read_file") is read_file
    assert box.names == ("read_file", "list_files")
    assert [spec.name for spec in box.specs] == ["read_file", "list_files"]
    assert (len(box), list(box), "list_files" in box) == (2, [read_file, list_files], True)


@pytest.mark.guarantee("B2")
def test_an_unknown_tool_is_answered_with_what_was_probably_meant_and_what_there_is() -> None:
    with pytest.raises(UnknownToolError) as caught:
        Toolbox([read_file, list_files]).get("Read_Fiel")
    assert str(caught.value) == (
        "There is no tool 'Read_Fiel'. Allowed: read_file, list_files. Probably read_file was meant."
    )


def test_without_a_similar_name_there_is_no_suggestion() -> None:
    with pytest.raises(UnknownToolError, match="Use one of these, or go on without"):
        Toolbox([read_file]).get("x" * 1_000_000)
    with pytest.raises(UnknownToolError, match="there are no tools here"):
        Toolbox().get("x")


def test_a_long_list_of_tools_is_shown_in_part() -> None:
    box = Toolbox([tool(name=f"tool{number}")(read_file.__wrapped__) for number in range(40)])
    with pytest.raises(UnknownToolError, match="and 10 more"):
        box.get("nothing")


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="each name once"):
        Toolbox([read_file, read_file])


def test_what_is_no_tool_is_refused() -> None:
    not_a_tool: Any = print
    with pytest.raises(InvalidValueError, match="Put @tool before the function"):
        Toolbox([not_a_tool])


def test_the_public_names_are_there_and_cost_nothing_until_used() -> None:
    for name in endstop.tools.__all__:
        assert getattr(endstop.tools, name) is not None
        assert name in dir(endstop.tools)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = endstop.tools.nothing  # type: ignore[attr-defined] # pyright: ignore
    code = (
        "import sys; from endstop.tools import tool; print('pydantic' in sys.modules, 'mcp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_text_that_fits_stays_as_it_is() -> None:
    assert shortened("x" * 50_000) == "x" * 50_000


def test_long_text_keeps_its_head_and_tail_and_says_what_is_missing() -> None:
    short = shortened("head" + "x" * 1_000 + "tail", 100)
    assert short.startswith("headx")
    assert short.endswith("xtail")
    assert "[... 945 characters left out ...]" in short
    assert len(short) <= 100


@given(st.text(min_size=90, max_size=400), st.integers(100, 300))
def test_shortened_text_is_never_longer_than_asked(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short) <= most
    assert short == text or "characters left out" in short


@pytest.mark.parametrize("offset", [0, 1])
def test_a_surrogate_pair_is_never_parted(offset: int) -> None:
    for length in (300, 301, 302, 303):
        short = shortened("a" * offset + "\ud83d\ude00" * length, 101)
        assert short.encode("utf-16", "surrogatepass").decode("utf-16")


@pytest.mark.parametrize("most", [0, 99, 10**9, True, 1.5])
def test_a_length_that_makes_no_sense_is_refused(most: Any) -> None:
    with pytest.raises(InvalidValueError, match="most_chars"):
        shortened("x", most)


def test_50_mb_are_shortened_at_once() -> None:
    text = "é" * 50_000_000
    before = time.perf_counter()
    assert len(shortened(text)) <= 50_000
    assert time.perf_counter() - before < 0.1


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_readable_text_can_be_written_anywhere(text: str) -> None:
    clean = readable(text)
    assert clean.encode().decode() == clean
    assert "\0" not in clean
