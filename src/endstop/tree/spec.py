"""A tree as plain data: what Lua yields, what is checked, drawn, bounded, hashed and kept with a run.

Nothing here can run. ``parameters`` holds what JSON can say; which ones a kind of node takes stands in
``kinds``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from endstop.errors import InvalidValueError

PlainValue: TypeAlias = "bool | int | float | str | list[PlainValue] | dict[str, PlainValue] | None"
"""What JSON can say."""


class KeyType(StrEnum):
    """What a key of the blackboard can hold."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    """Whole or not."""
    BOOLEAN = "boolean"
    LIST = "list"
    MAP = "map"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySpec:
    """A key of the blackboard, as a tree declares it."""

    name: str
    type: KeyType = KeyType.ANY
    default: PlainValue = None
    """What it holds before anything is written; None stands for nothing yet, whatever its type."""
    doc: str = ""
    line: int | None = None


def _no_parameters() -> Mapping[str, PlainValue]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """One node: its kind, its name for people, what it was given, and the nodes below it."""

    kind: str
    name: str
    parameters: Mapping[str, PlainValue] = field(default_factory=_no_parameters)
    children: tuple[NodeSpec, ...] = ()
    line: int | None = None

    def walk(self) -> Iterator[NodeSpec]:
        """This node and all below it, each before its children. References are not followed."""
        waiting: list[NodeSpec] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


@dataclass(frozen=True, kw_only=True)
class TreeSpec:
    """A whole tree, with every tree it refers to."""

    name: str
    doc: str = ""
    keys: tuple[KeySpec, ...] = ()
    root: NodeSpec
    file: str = ""
    """The name of the file it was written in, without its folder."""
    subtrees: tuple[TreeSpec, ...] = ()
    """The trees that this one and those it refers to name, each once; they have none of their own here."""

    @cached_property
    def hash(self) -> str:
        """The same for trees that behave the same: where their nodes stand in a file does not count."""
        return sha256(_dumped(_behaviour(to_plain(self))).encode()).hexdigest()[:16]

    @cached_property
    def json(self) -> str:
        """The tree as text: the same text for the same tree."""
        return _dumped(to_plain(self))

    @cached_property
    def worked_out(self) -> dict[object, object]:
        """What others have worked out of it, kept while it is there: one tree steers many runs."""
        return {}

    def subtree(self, name: str) -> TreeSpec | None:
        """The tree of that name, this one included."""
        return self if name == self.name else next((t for t in self.subtrees if t.name == name), None)


def to_json(tree: TreeSpec) -> str:
    """The tree as JSON text: the same text for the same tree."""
    return tree.json


def from_json(text: str) -> TreeSpec:
    """The tree of such a text. Only what ``to_json`` wrote can be read."""
    try:
        return _tree(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidValueError("tree", text, allowed="the JSON text of a tree") from None


def to_plain(tree: TreeSpec) -> dict[str, Any]:
    """The tree as dictionaries and lists."""
    return {
        "name": tree.name,
        "doc": tree.doc,
        "file": tree.file,
        "keys": [
            {
                "name": key.name,
                "type": key.type.value,
                "default": key.default,
                "doc": key.doc,
                "line": key.line,
            }
            for key in tree.keys
        ],
        "root": _plain_node(tree.root),
        "subtrees": [to_plain(subtree) for subtree in tree.subtrees],
    }


def _plain_node(node: NodeSpec) -> dict[str, Any]:
    return {
        "kind": node.kind,
        "name": node.name,
        "parameters": dict(node.parameters),
        "children": [_plain_node(child) for child in node.children],
        "line": node.line,
    }


def _tree(plain: dict[str, Any]) -> TreeSpec:
    return TreeSpec(
        name=plain["name"],
        doc=plain["doc"],
        file=plain["file"],
        keys=tuple(
            KeySpec(
                name=key["name"],
                type=KeyType(key["type"]),
                default=key["default"],
                doc=key["doc"],
                line=key["line"],
            )
            for key in plain["keys"]
        ),
        root=_node(plain["root"]),
        subtrees=tuple(_tree(subtree) for subtree in plain["subtrees"]),
    )


def _node(plain: dict[str, Any]) -> NodeSpec:
    return NodeSpec(
        kind=plain["kind"],
        name=plain["name"],
        parameters=MappingProxyType(dict(plain["parameters"])),
        children=tuple(_node(child) for child in plain["children"]),
        line=plain["line"],
    )


_PLACES = frozenset({"line", "file", "doc"})


def _behaviour(plain: object) -> object:
    """The same without what people read only."""
    if isinstance(plain, dict):
        items = cast("dict[str, object]", plain).items()
        return {name: _behaviour(value) for name, value in items if name not in _PLACES}
    if isinstance(plain, list):
        return [_behaviour(value) for value in cast("list[object]", plain)]
    return plain


def _dumped(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
