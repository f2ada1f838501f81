"""Trees written in Lua: a small program that runs once, builds a tree, and is gone (E3, E4).

    local function step(name)
        return BT.action("steps." .. name)
    end

    return BT.tree("agent", {
        doc = "What the tree is for.",
        blackboard = { question = "string", turn = { type = "integer", default = 0, doc = "Now" } },
        root = BT.sequence("all", {
            BT.condition{ expression = "turn > 3" },
            BT.retry("again", { attempts = 3, step("ask") }),
        }),
    })

There is a function of ``BT`` for every kind of node in ``kinds``. It takes a name, a table, or both::

    BT.sequence{ a, b }      BT.sequence("name", { a, b })      BT.sequence{ name = "name", a, b }

The list in the table are the nodes below (``child = NODE`` and ``children = { … }`` say the same), what
is named in it are the parameters. One node may stand for the table: ``BT.inverter(NODE)``.

The text before the table is the name of the node. Where a leaf lacks what it cannot do without, the text
is that, too: ``BT.action("signals.log")`` is an action with that ``fn``, ``BT.tool_call("search", { args
= … })`` calls that tool, ``BT.subtree_ref("agent-turn")`` names that tree; a condition takes a dotted
name for its ``fn`` and any other text for its ``expression``. A node without a name is named after its
``fn``, ``expression``, ``tool`` or ``tree``, or else after its kind.

Whole numbers stay whole (``6 / 2`` is 3). An empty table is a map, save as the default of a key of type
list. ``pairs`` goes in the order of the keys, so that the same file always gives the same tree.
"""

from __future__ import annotations

from pathlib import PurePath

from endstop.tree.lua.building import Builder
from endstop.tree.lua.sandbox import LIMITS, run
from endstop.tree.problems import refused
from endstop.tree.spec import TreeSpec

__all__ = ["LIMITS", "read_tree"]


def read_tree(text: str, *, file: str) -> TreeSpec:
    """The tree in ``text``, with nothing resolved. ``TreeError`` has all its problems, each with its line."""
    builder = Builder(file=file)
    tree = builder.build(run(text))
    if tree is None or builder.problems:
        name = tree.name if tree is not None else ""
        raise refused(
            name or PurePath(file).stem,
            sorted(dict.fromkeys(builder.problems), key=lambda one: one.line or 0),
        )
    return tree
