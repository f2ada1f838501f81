"""A tree as people see it: as text, and as Graphviz. References are drawn in place (E6).

Nodes are numbered as they are met, each before its children; a node that refers to a tree has the root of
that tree as its only child. The engine numbers them the same way, so a status finds its node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from endstop.errors import brief
from endstop.kernel.texts import readable
from endstop.tree.kinds import KINDS, Group
from endstop.tree.references import MOST_LEVELS, MOST_NODES, referred
from endstop.tree.spec import NodeSpec, PlainValue, TreeSpec
from endstop.tree.status import RunStatus

SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "sequence": "→",
        "selector": "?",
        "parallel": "⇉",
        "reactive_sequence": "↠",
        "reactive_selector": "⁇",
        "retry": "↺",
        "repeat_until": "⟳",
        "timeout": "◷",
        "guard": "◇",
        "inverter": "¬",
        "always_succeed": "⊤",
        "always_fail": "⊥",
        "cooldown": "◔",
        "budget": "$",
        "for_each": "∀",
        "subtree": "▣",
        "condition": "=",
        "action": "!",
        "llm_call": "✎",
        "tool_call": "⚒",
        "subtree_ref": "↳",
    }
)
_UNKNOWN_SIGN = "✗"
_SHAPES: Mapping[Group, str] = {Group.COMPOSITE: "box", Group.DECORATOR: "hexagon", Group.LEAF: "ellipse"}

_MOST_CHARS = 60
"""So much of a name or a value is drawn."""


class Placed(NamedTuple):
    """A node in its place in the whole tree."""

    index: int  # pyright: ignore[reportIncompatibleMethodOverride] - nobody searches in it
    depth: int
    path: str
    """The names from the root down to it, with slashes between."""
    node: NodeSpec
    file: str


def expanded(tree: TreeSpec) -> Iterator[Placed]:
    """Every node of the whole tree, references followed, each before its children.

    A circle is not followed, nor is anything past the levels that are allowed: such a tree is refused, but it
    can be drawn to be seen. It may be long: take only as much as is wanted.
    """
    for index, (depth, path, node, home, _) in enumerate(_walk(tree)):
        yield Placed(index, depth, path, node, home.file)


def draw_text(tree: TreeSpec, *, statuses: Mapping[int, RunStatus] | None = None) -> str:
    """The tree with lines from node to node, a sign for each kind, and the status of each node if given."""
    places = list(islice(expanded(tree), MOST_NODES + 1))
    lines = [_plain(tree.name)]
    for place, lead in zip(places[:MOST_NODES], _leads([place.depth for place in places]), strict=False):
        status = (statuses or {}).get(place.index)
        said = "" if status is None else f"  [{status.value}]"
        lines.append(f"{lead}{_label(place.node)}{said}")
    if len(places) > MOST_NODES:
        lines.append("…")
    return "\n".join(lines)


def draw_dot(tree: TreeSpec) -> str:
    """The tree in the language of Graphviz; node ``n3`` is the one of index 3."""
    lines = [f"digraph {_quoted(_plain(tree.name))} {{", "  node [fontname=sans-serif];"]
    above: list[int] = []
    for place in islice(expanded(tree), MOST_NODES):
        kind = KINDS.get(place.node.kind)
        shape = "plain" if kind is None else _SHAPES[kind.group]
        lines.append(
            f"  n{place.index} [shape={shape}, label={_quoted(_title(place.node), _given(place.node))}];"
        )
        del above[place.depth :]
        if above:
            lines.append(f"  n{above[-1]} -> n{place.index};")
        above.append(place.index)
    return "\n".join([*lines, "}"])


class _Visit(NamedTuple):
    depth: int
    path: str
    node: NodeSpec
    home: TreeSpec
    way: frozenset[str]
    """The trees it stands in, from the first one down."""


def _walk(tree: TreeSpec) -> Iterator[_Visit]:
    trees = {one.name: one for one in (*tree.subtrees, tree)}
    waiting = [_Visit(0, tree.root.name, tree.root, tree, frozenset({tree.name}))]
    while waiting:
        visit = waiting.pop()
        yield visit
        depth, path, node, home, way = visit
        if depth + 1 == MOST_LEVELS:
            continue
        name = referred(node)
        if name is None:
            below = [_Visit(depth + 1, f"{path}/{one.name}", one, home, way) for one in node.children]
            waiting.extend(reversed(below))
        elif name in trees and name not in way:
            root = trees[name].root
            waiting.append(_Visit(depth + 1, f"{path}/{root.name}", root, trees[name], way | {name}))


def _leads(depths: Sequence[int]) -> list[str]:
    """The lines in front of each node. From the last to the first, so that it is known what follows below."""
    leads: list[str] = []
    goes_on: list[bool] = []
    """For each depth, whether a node of that depth follows under the same one above."""
    for depth in reversed(depths):
        is_last = depth >= len(goes_on) or not goes_on[depth]
        before = "".join("│  " if one else "   " for one in goes_on[:depth])
        leads.append(before.ljust(3 * depth) + ("└─ " if is_last else "├─ "))
        goes_on = [*(goes_on + [False] * depth)[:depth], True]
    return leads[::-1]


def _label(node: NodeSpec) -> str:
    given = _given(node)
    return _title(node) + (f"  ({given})" if given else "")


def _title(node: NodeSpec) -> str:
    name = "" if node.name == node.kind else f" {_plain(node.name)}"
    return f"{SIGNS.get(node.kind, _UNKNOWN_SIGN)} {_plain(node.kind)}{name}"


def _given(node: NodeSpec) -> str:
    """Its parameters, without those that say nothing or say its name again."""
    shown = {key: value for key, value in node.parameters.items() if value not in ([], {}, node.name)}
    return ", ".join(f"{_plain(str(key))}={_short(value)}" for key, value in shown.items())


def _short(value: PlainValue) -> str:
    if isinstance(value, dict):
        return _plain("{" + ", ".join(str(key) for key in islice(value, _MOST_CHARS)) + "}")
    if isinstance(value, list):
        return "[…]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _plain(value) if isinstance(value, str) else brief(value)


def _plain(text: str) -> str:
    """On one line, with nothing in it that a terminal would obey."""
    head = readable(text[:_MOST_CHARS])
    shown = "".join(one if one.isprintable() else " " if one.isspace() else "\ufffd" for one in head)
    return shown + "…" if len(text) > _MOST_CHARS else shown


def _quoted(*lines: str) -> str:
    """Text for Graphviz, in which a backslash would begin something."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines if line)
    return '"' + "\\n".join(escaped) + '"'
