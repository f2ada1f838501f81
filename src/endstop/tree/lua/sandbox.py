"""Runs the text of a tree file once, in a Lua that can do nothing but build trees (E4).

Its text and a clock go in, and one JSON text comes out: what the script made, and what went wrong. A
script cannot look outside: its environment is a list of harmless functions (``functions.lua``), and not
even the clock is in it. It cannot run for long: a hook counts its steps and looks at the clock
(``prelude.lua``), and what runs inside C, where no hook is called, is not offered or is bounded first. It
cannot fill the memory: there are two limits, a hard one on all, and a small one on what it holds for
itself. The runtime is thrown away afterwards.

The size of a text is limited more tightly than its reading would need. Lua's compiler takes time with
the square of some things (labels, gotos, whole numbers that collide), and no hook is called inside it:
with a text of this size that stays well below a second.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from time import thread_time
from typing import Any, cast

from lupa import lua54


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a tree file may use."""

    bytes: int = 100_000
    steps: int = 1_000_000
    """Instructions of Lua, roughly: a line of a script takes 10 to 30."""
    seconds: float = 0.3
    """Of the processor, for this thread alone."""
    memory_bytes: int = 16_000_000
    """Hard, for all of it."""
    scratch_kb: int = 300
    """What the script may hold for itself, beside its own text and the nodes it has made."""
    nodes: int = 2_000
    """A node that is used twice counts twice."""
    depth: int = 60
    trees: int = 10
    values: int = 20_000
    levels: int = 20
    """How deep a value may be nested."""
    chars: int = 10_000
    """Of one text."""
    problems: int = 100


LIMITS = Limits()

_RUNTIME = cast("Any", lua54.LuaRuntime)
_PARTS = ("functions", "recorder")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a script made: still as it was written, right or wrong."""

    nodes: list[list[Any]]
    """``[kind, line, words, parameters, children]``; a child is a place in this list, or says what it is."""
    trees: list[list[Any]]
    """``[line, name, root, parts]``."""
    problems: list[list[Any]]
    """``[line, what, about, detail]``."""


def run(text: str) -> Made:
    """What the script in ``text`` makes. Never an error of the script's: those are problems."""
    try:
        source = text.removeprefix("\ufeff").encode()
    except UnicodeEncodeError:
        return _nothing("not_utf8_text")
    if len(source) > LIMITS.bytes:
        return _nothing("long_file")
    lua = _RUNTIME(
        encoding=None,
        max_memory=LIMITS.memory_bytes,
        register_eval=False,
        register_builtins=False,
        unpack_returned_tuples=True,
        attribute_filter=_refuse,
    )
    try:
        said = cast("bytes", lua.execute(_prelude(), source, thread_time))
    except lua54.LuaError:
        # Only memory can run out here: all else is caught inside, and told.
        return _nothing("too_much_memory")
    return Made(**json.loads(said))


def _nothing(what: str) -> Made:
    return Made(nodes=[], trees=[], problems=[[None, what, "", ""]])


def _refuse(_object: object, _name: object, _is_setting: bool) -> str:
    raise AttributeError("tree files cannot reach Python")


@cache
def _prelude() -> bytes:
    """The Lua that is ours, compiled once. It has no line numbers: the hook sees those of scripts only."""
    limits = ", ".join(f"{name} = {value}" for name, value in asdict(LIMITS).items())
    parts = "".join(f"local function {name}(...)\n{_lua(name)}\nend\n" for name in _PARTS)
    dumped = _RUNTIME(encoding=None).eval("function(source) return string.dump(load(source), true) end")
    return cast("bytes", dumped(f"local limits = {{ {limits} }}\n{parts}{_lua('prelude')}".encode()))


def _lua(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8")
