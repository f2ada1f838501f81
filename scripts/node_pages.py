"""Writes docs/reference/nodes.md: what trees are made of, from the code that reads and runs them.

    python scripts/node_pages.py            write the page
    python scripts/node_pages.py --check    fail if the page is not as it would be written

The kinds of nodes come from ``tree/kinds.py``, the leaves from the oracle's registry, what a tree file can
name from the sandbox itself. What the code says in docstrings is put here as it stands there.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import groupby

from generated_page import ROOT, write_or_check
from page_text import docs_below, pages_of, prose, table, wrapped

from endstop.errors import TreeError
from endstop.oracle.leaves import LEAVES
from endstop.tree import blackboard, bounds, expression, kinds, lua, meaning, plain_values, references, spec
from endstop.tree.draw import SIGNS
from endstop.tree.kinds import KINDS, Group, Kind, Parameter, Takes
from endstop.tree.leaves import Leaf, LeafCost
from endstop.tree.lua import sandbox, wording
from endstop.tree.parameters import allowed_instead
from endstop.tree.scopes import KEY_RULE
from endstop.tree.validate import MOST_NAME_CHARS

PAGE = ROOT / "docs" / "reference" / "nodes.md"

INTRODUCTION = """\
# Nodes, leaves and the Lua of trees

<!-- Written by scripts/node_pages.py from the code. Do not edit. -->

What a tree can be made of. How it is used: [Trees](../guides/trees.md), [Leaves](../guides/leaves.md), [The
oracle](../guides/oracle.md).
"""

_GROUPS: Mapping[Group, tuple[str, str]] = {
    Group.COMPOSITE: ("Composites", "Nodes with any number of nodes below them."),
    Group.DECORATOR: ("Decorators", "Nodes with exactly one node below them."),
    Group.LEAF: ("Leaves", "Nodes with none below them: they ask, or do something."),
}
_QUORUM = '"all", "one", or a whole number from 1 to the number of nodes below'
_OF_WHAT: Mapping[str, str] = {
    "bytes": "Of the file.",
    "depth": "Levels of nodes.",
    "trees": "That are looked at: a file should have one.",
    "values": "In the parameters of all nodes.",
    "problems": "Told at once.",
}
"""What the limits are of where the code says it by their names alone."""


# ── kinds ─────────────────────────────────────────────────────────────────────────────────────────────────


def kinds_of(group: Group) -> Iterator[str]:
    title, what = _GROUPS[group]
    yield from (f"## {title}", "", what, "")
    for kind in KINDS.values():
        if kind.group is group:
            yield from section_of(kind)


def section_of(kind: Kind) -> Iterator[str]:
    yield from (f"### {kind.name}", "", f"`{SIGNS[kind.name]}` {kind.doc}", "", f"`{_written(kind)}`", "")
    if kind.parameters:
        yield from table(
            ("parameter", "takes", "what it is"),
            (
                (f"`{one.name}`{' (needed)' * one.is_required}", _takes(one), one.doc)
                for one in kind.parameters
            ),
        )
    if kind.one_of:
        yield from (f"Exactly one of {_named(kind.one_of)} is given.", "")
    if kind.at_least_one_of:
        yield from (f"At least one of {_named(kind.at_least_one_of)} is given.", "")


def _written(kind: Kind) -> str:
    """How it looks in Lua, with what it cannot do without."""
    needed = [one.name for one in kind.parameters if one.is_required] or list(
        kind.one_of[-1:] or kind.at_least_one_of[:1]
    )
    below = {Group.COMPOSITE: ["NODE", "NODE", "…"], Group.DECORATOR: ["NODE"], Group.LEAF: []}[kind.group]
    inside = [f"{name} = …" for name in needed] + below
    return f'BT.{kind.name}("name", {{ {", ".join(inside)} }})' if inside else f'BT.{kind.name}("name")'


def _takes(parameter: Parameter) -> str:
    if parameter.takes is Takes.CHOICE:
        return " or ".join(f'"{choice}"' for choice in parameter.choices)
    return f"[{parameter.takes}](#what-parameters-take)"


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def taken() -> Iterator[str]:
    """What each word in the column "takes" stands for."""
    docs = docs_below(kinds, "Takes")
    used = {one.takes: one for kind in KINDS.values() for one in kind.parameters}
    yield from ("## What parameters take", "")
    yield from table(
        ("word", "allowed", "what it is"),
        (
            (
                f"`{takes}`",
                _QUORUM if takes is Takes.QUORUM else allowed_instead(parameter, None, children=0) or "",
                prose(docs.get(takes.name, "")) if takes is not Takes.QUORUM else "",
            )
            for takes, parameter in used.items()
            if takes is not Takes.CHOICE
        ),
    )
    counts = ", ".join(f"`{name}` {most}" for name, most in bounds.GREATEST_COUNTS.items())
    yield wrapped(
        "A named count stands for the run's own number, from its budget. When a tree is checked nobody knows"
        f" it yet, and it counts as the greatest there can be: {counts}."
    )
    yield ""


# ── leaves ────────────────────────────────────────────────────────────────────────────────────────────────


def registered() -> Iterator[str]:
    yield from (
        "## Conditions and actions",
        "",
        'The functions that trees of agents may name: `fn = "…"`, or the text before the table. Conditions',
        "answer at once and never raise. Where there is no run or no blackboard they fail.",
        "",
    )
    for room, group in groupby(sorted(LEAVES, key=_order), key=_room):
        leaves = list(group)
        yield from (f"### {room}", "")
        yield from table(
            ("name", "what it does", "arguments", "writes", "costs"),
            ((f"`{one.name}`", _said(one), _arguments(one), _writes(one), _cost(one.cost)) for one in leaves),
        )


def _order(leaf: Leaf) -> tuple[str, bool, str]:
    return _room(leaf), leaf.is_action, leaf.name


def _room(leaf: Leaf) -> str:
    return leaf.name.partition(".")[0]


def _said(leaf: Leaf) -> str:
    sort = "Action" if leaf.is_action else "Condition"
    beside = ", takes time" if leaf.is_async else ""
    return f"*{sort}{beside}.* {prose(leaf.doc)}"


def _arguments(leaf: Leaf) -> str:
    return ", ".join(f"`{_without_quotes(parameter)}`" for parameter in leaf.parameters.values())


def _without_quotes(parameter: inspect.Parameter) -> str:
    is_needed = parameter.default is inspect.Parameter.empty
    return f"{parameter.name}: {parameter.annotation}" + ("" if is_needed else f" = {parameter.default!r}")


def _writes(leaf: Leaf) -> str:
    return ", ".join(f"`{key}` ({key_type})" for key, key_type in leaf.writes.items())


def _cost(cost: LeafCost) -> str:
    said = [f"{cost.turns} turn{'s' * (cost.turns != 1)}"] * bool(cost.turns)
    said += ["the tool calls of a reply"] * cost.runs_tools
    said += [f"{cost.tool_calls} tool calls"] * bool(cost.tool_calls)
    return ", ".join(said)


# ── the blackboard, expressions, Lua, limits ──────────────────────────────────────────────────────────────


def board() -> Iterator[str]:
    docs = docs_below(spec, "KeyType")
    types = ", ".join(
        f"`{one}`" + (f" ({docs[one.name].rstrip('.').lower()})" if one.name in docs else "")
        for one in spec.KeyType
    )
    yield from (
        "## The blackboard",
        "",
        '`blackboard = { question = "string", turn = { type = "integer", default = 0, doc = "Now" } }`',
        "",
        wrapped(
            f"Types: {types}. Whatever its type, a key can hold nothing (`nil`), and does so until it is"
            f" written, unless it has a default. The name of a key: {KEY_RULE}. All boards of a run together"
            f" hold at most {blackboard.MOST_BYTES:,} bytes, lists and maps at most"
            f" {plain_values.MOST_LEVELS} deep in each other. What a leaf writes need not be declared."
        ),
        "",
    )


def expressions() -> Iterator[str]:
    yield from ("## Expressions", "", "The small language of `expression`:", "")
    yield from pages_of(expression.__doc__ or "")
    yield wrapped(
        f"An expression has at most {expression.MOST_CHARS:,} characters, and {expression.MOST_DEPTH} levels"
        f" of parentheses and signs; numbers go up to {meaning.MOST:,}. Words that cannot be keys:"
        f" {_named(sorted(expression.RESERVED))}."
    )
    yield ""


def lua_of_trees() -> Iterator[str]:
    first = inspect.cleandoc(lua.__doc__ or "").partition("\n")[0]
    yield from ("## Lua", "", wrapped(prose(f"Lua 5.4. {first}")), "")
    yield from pages_of(lua.__doc__ or "")
    yield from ("### What a file can use", "")
    libraries = {name: names for name in wording.OFFERED if (names := inside(name))}
    plain = [name for name in wording.OFFERED if name not in libraries]
    yield from (f"{_named(plain)}, and of the libraries:", "")
    yield from table(
        ("library", "what of it"),
        ((f"`{name}`", _named(names)) for name, names in libraries.items() if name != "BT"),
    )
    yield from ("Nothing else: no files, modules, clock, chance, patterns, coroutines or metatables.", "")
    docs = docs_below(sandbox, "Limits")
    yield from ("### What a file may use", "")
    yield from table(
        ("limit", "at most", "of what"),
        (
            (f"`{name}`", f"{value:,}", docs.get(name) or _OF_WHAT[name])
            for name, value in asdict(lua.LIMITS).items()
        ),
    )


def inside(name: str) -> list[str]:
    """What a table has that files can use, as the sandbox itself tells it: by an error of a script."""
    script = f"""
        if type({name}) ~= "table" then error("none") end
        local names = {{}}
        for key in pairs({name}) do names[#names + 1] = key end
        error("has " .. table.concat(names, " "))"""
    try:
        lua.read_tree(script, file="asked.lua")
    except TreeError as error:
        (told,) = error.problems
        return told.rpartition(": has ")[2].rstrip(".").split() if ": has " in told else []
    sys.exit(f"{name} tells nothing")


def limits() -> Iterator[str]:
    yield from ("## Limits of a tree", "")
    yield from table(
        ("what", "at most"),
        (
            ("nodes, with every reference followed", f"{references.MOST_NODES:,}"),
            ("levels", f"{references.MOST_LEVELS:,}"),
            ("rounds of a loop", f"{kinds.MOST_TIMES:,}"),
            ("runs of leaves in one pass, all loops multiplied", f"{bounds.MOST_LEAF_RUNS:,}"),
            ("seconds of a timeout", f"{kinds.MOST_SECONDS:,.0f}"),
            ("characters of a name", f"{MOST_NAME_CHARS:,}"),
            ("problems told at once", f"{references.MOST_PROBLEMS:,}"),
        ),
    )


def page() -> str:
    """The whole page, as text."""
    lines = [INTRODUCTION]
    for group in Group:
        lines += kinds_of(group)
    lines += [*taken(), *registered(), *board(), *expressions(), *lua_of_trees(), *limits()]
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> None:
    write_or_check(PAGE, page())


if __name__ == "__main__":
    main()
