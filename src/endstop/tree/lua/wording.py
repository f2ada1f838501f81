"""What the recorder found wrong, in words for the person who wrote the file."""

from __future__ import annotations

import re
from typing import Any

from endstop.kernel.texts import closest
from endstop.tree.lua.sandbox import LIMITS
from endstop.tree.problems import Problem

OFFERED = (
    *("BT", "assert", "error", "ipairs", "math", "next", "pairs", "select", "string", "table", "tonumber"),
    *("tostring", "type"),
)
"""What a script can name, besides what it makes itself."""

_SMALLER = "Divide it into several files, and name the others with BT.subtree_ref"
_PLAIN = "Use text, numbers, true, false, lists, and tables with names"
_SIMPLER = "A tree file only builds a tree: make it simpler"

_SAID: dict[str, tuple[str, str]] = {
    # The whole file.
    "long_file": (f"The file is larger than {LIMITS.bytes:,} bytes", _SMALLER),
    "not_utf8_text": ("The file is not text that can be written as UTF-8", "Save it as UTF-8"),
    "too_many_steps": (f"The script runs for more than {LIMITS.steps:,} steps", _SIMPLER),
    "too_long": (f"The script takes more than {LIMITS.seconds:g} seconds", _SIMPLER),
    "too_much_memory": ("The script uses too much memory", _SIMPLER),
    "too_many_nodes": (f"There are more than {LIMITS.nodes:,} nodes", _SMALLER),
    "deep_tree": (f"The tree is more than {LIMITS.depth} levels deep", _SMALLER),
    "too_many_trees": ("There are many trees in this file", "Write one tree per file"),
    "too_many_values": (f"There are more than {LIMITS.values:,} values", _SMALLER),
    "too_many_problems": ("There are more problems than these", "Mend these first"),
    "odd_error": (
        "The script ended itself with error(a {detail})",
        "Give error a text that says what is wrong",
    ),
    # One value.
    "not_utf8": ("{detail} of BT.{about} is not UTF-8 text", "Write it as text"),
    "long_text": (
        f"{{detail}} of BT.{{about}} holds a text of more than {LIMITS.chars:,} characters",
        "Shorten it",
    ),
    "odd_key": ("BT.{about} is given a table with a key that is neither text nor a place in a list", _PLAIN),
    "list_and_names": ("{detail} of BT.{about} is a list and has names as well", "Make it one or the other"),
    "list_with_gaps": (
        "{detail} of BT.{about} is a list with a gap in it",
        "Check the spelling of its items",
    ),
    "not_finite": ("{detail} of BT.{about} holds a number that is not finite", "Use a finite number"),
    "function_as_value": (
        "{detail} of BT.{about} holds a function",
        'Name a registered function: fn = "name"',
    ),
    "node_as_value": (
        "{detail} of BT.{about} holds a node",
        "Nodes go into the list, or under child or children",
    ),
    "deep_value": (
        f"{{detail}} of BT.{{about}} is nested deeper than {LIMITS.levels} levels",
        "Make it flatter",
    ),
    # One call.
    "changed_node": (
        "A node that BT.{about} made was changed afterwards",
        "Give everything in the call that makes it",
    ),
    "odd_call": (
        "BT.{about} is given ({detail})",
        'Write BT.{about}("name", {{ … }}), or leave out the name or the table',
    ),
    "odd_tree": ("BT.tree is not given a name and a table", 'Write BT.tree("name", {{ root = … }})'),
}

_PLACED = re.compile(r"tree:(\d{1,6}): (.*)\Z", re.DOTALL)


def worded(found: list[list[Any]], file: str) -> list[Problem]:
    """Problems as the recorder notes them, ``[line, what, about, detail]``, for people."""
    unknown = {f"(global '{about}')" for _, what, about, _ in found if what == "unknown_global"}
    return [
        _worded(file, line, what, about, detail)
        for line, what, about, detail in found
        # Lua trips over what is not there a moment after it was told.
        if not (what == "error" and any(name in detail for name in unknown))
    ]


def meant(name: str, known: tuple[str, ...], otherwise: str) -> str:
    """What to do about a name that there is not."""
    close = closest(name, known)
    return f"Perhaps {close!r} was meant" if close is not None else otherwise


def _worded(file: str, line: int | None, what: str, about: str, detail: str) -> Problem:
    if what in ("syntax", "error"):
        return _lua_error(file, line, what, detail)
    if what == "unknown_global":
        to_do = meant(about, OFFERED, "Check its spelling, or make it before this line")
        return Problem(file=file, line=line, what=f"There is no {about!r}", to_do=to_do)
    said, to_do = _SAID[what]
    return Problem(
        file=file,
        line=line,
        what=said.format(about=about, detail=detail or "A name"),
        to_do=to_do.format(about=about),
    )


def _lua_error(file: str, line: int | None, what: str, said: str) -> Problem:
    """Lua's own words, without the place that stands in them."""
    if said == "C stack overflow":
        return Problem(
            file=file, line=line, what="The file is nested too deep to be read", to_do="Make it flatter"
        )
    placed = _PLACED.match(said)
    if placed is not None:
        line, said = int(placed[1]), placed[2]
    begun = "This is not Lua" if what == "syntax" else "The script failed here"
    return Problem(file=file, line=line, what=f"{begun}: {said.rstrip('.')}")
