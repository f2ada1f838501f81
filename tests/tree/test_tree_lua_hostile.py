"""Scripts that try to get out, to run for ever or to fill the memory: each is refused, quickly (E4)."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Event
from time import thread_time

import pytest
from hostile_texts import BUSY_COMPILER
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import TreeError
from endstop.tree.kinds import KINDS
from endstop.tree.lua import read_tree

FOLDER = Path(__file__).parent
SCRIPTS = sorted((FOLDER / "hostile_lua").glob("*.lua"))
MOST_SECONDS = 1.0
"""Of this thread, so that a busy machine does not count."""


def refused(text: str) -> tuple[str, ...]:
    """The problems of a text, which has to be refused in time."""
    began = thread_time()
    with pytest.raises(TreeError) as caught:
        read_tree(text, file="hostile.lua")
    assert thread_time() - began < MOST_SECONDS
    return caught.value.problems


@pytest.mark.guarantee("E4")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_hostile_script_is_refused_within_a_second(script: Path) -> None:
    assert refused(script.read_text(encoding="utf-8"))


def test_there_are_hostile_scripts_and_each_says_what_it_tries() -> None:
    assert len(SCRIPTS) >= 100
    assert [path.name for path in SCRIPTS if "-- Tries" not in path.read_text(encoding="utf-8")] == []


@pytest.mark.guarantee("E4")
@pytest.mark.parametrize("text", BUSY_COMPILER.values(), ids=BUSY_COMPILER.keys())
def test_a_text_that_keeps_the_compiler_busy_is_refused_within_a_second(text: str) -> None:
    assert refused(text)


@pytest.mark.guarantee("E4")
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
def test_the_scripts_that_try_to_fill_the_memory_take_little_of_it() -> None:
    hogs = [path for path in SCRIPTS if path.stem.startswith("memory_")]
    command = [sys.executable, str(FOLDER / "hostile_child.py"), *map(str, hogs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, grown_kb = map(int, done.stdout.split())
    assert count == len(hogs) > 15
    assert grown_kb < 40_000


def test_the_time_of_other_threads_does_not_count() -> None:
    script = """
    for i = 1, 40000 do
        local x = i
    end
    return BT.tree("t", { root = BT.action("a.b") })
    """
    is_over = Event()

    def keep_busy() -> None:
        while not is_over.is_set():
            sha256(bytes(1_000_000))

    with ThreadPoolExecutor(8) as others:
        try:
            for _ in range(8):
                others.submit(keep_busy)
            for _ in range(5):
                assert read_tree(script, file="t.lua").name == "t"
        finally:
            is_over.set()


@pytest.mark.guarantee("E4")
@pytest.mark.parametrize(
    "name",
    [
        *(
            "os",
            "io",
            "debug",
            "package",
            "python",
            "coroutine",
            "utf8",
            "_G",
            "load",
            "loadfile",
            "loadstring",
        ),
        *(
            "dofile",
            "require",
            "pcall",
            "xpcall",
            "setmetatable",
            "getmetatable",
            "rawset",
            "rawget",
            "rawequal",
        ),
        *("rawlen", "collectgarbage", "print", "warn", "_VERSION", "arg"),
    ],
)
def test_what_could_look_outside_is_not_there(name: str) -> None:
    assert any(f"There is no '{name}'" in one for one in refused(f"local x = {name}"))


@pytest.mark.guarantee("E4")
@pytest.mark.parametrize(
    "name", ["find", "match", "gmatch", "gsub", "format", "dump", "pack", "unpack", "packsize"]
)
def test_texts_have_no_patterns_and_nothing_that_cannot_be_stopped(name: str) -> None:
    text = 'return BT.tree("t", {{ root = BT.action("a.b", {{ args = {{ is_there = {0} ~= nil }} }}) }})'
    for written in (f"string.{name}", f'("").{name}'):
        args = read_tree(text.format(written), file="t.lua").root.parameters["args"]
        assert args == {"is_there": False}


@pytest.mark.guarantee("E4")
def test_a_script_sees_these_names_and_no_others() -> None:
    text = """
    local names = {}
    for name, value in pairs(_ENV) do
        names[#names + 1] = name
        if type(value) == "table" and name ~= "BT" then
            for inner in pairs(value) do
                names[#names + 1] = name .. "." .. inner
            end
        end
    end
    return BT.tree("t", { root = BT.action("a.b", { args = { names = names } }) })
    """
    args = read_tree(text, file="t.lua").root.parameters["args"]
    mathematics = (
        "abs ceil cos deg exp floor fmod huge log max maxinteger min mininteger modf pi rad sin sqrt tan "
        "tointeger type ult"
    )
    assert args == {
        "names": [
            *("BT", "assert", "error", "ipairs", "math"),
            *(f"math.{name}" for name in mathematics.split()),
            *("next", "pairs", "select", "string"),
            *(
                f"string.{name}"
                for name in ("byte", "char", "len", "lower", "rep", "reverse", "sub", "upper")
            ),
            "table",
            *(f"table.{name}" for name in ("concat", "insert", "pack", "remove", "unpack")),
            *("tonumber", "tostring", "type"),
        ]
    }


_WORDS = (
    'BT . ( ) { } [ ] = , ; "a.b" "t" 1 2 -1 nil true x y z tree sequence action retry root name child local '
    "function end return for in do pairs ipairs while if then else string rep table insert .. + # ~= :"
)


@given(st.lists(st.sampled_from(_WORDS.split()), max_size=60))
def test_whatever_is_written_is_refused_with_problems_or_gives_a_tree(words: list[str]) -> None:
    try:
        found = read_tree(" ".join(words), file="t.lua").root.kind
    except TreeError as error:
        found = error.problems[0]
    assert found.startswith("t.lua") or found in KINDS


@given(st.text())
def test_text_that_is_no_tree_is_refused(text: str) -> None:
    with pytest.raises(TreeError):
        read_tree(text, file="t.lua")


@given(st.text(max_size=200))
def test_any_text_inside_a_tree_comes_out_as_it_was(text: str) -> None:
    written = "".join(f"\\u{{{ord(letter):x}}}" for letter in text)
    tree = (
        f'return BT.tree("t", {{ root = BT.action("a.b", {{ args = {{ ["{written}"] = "{written}" }} }}) }})'
    )
    try:
        args = read_tree(tree, file="t.lua").root.parameters["args"]
    except TreeError:
        assert not is_writable(text) or len(text.encode()) > 200
    else:
        assert args == {text: text}


def is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
