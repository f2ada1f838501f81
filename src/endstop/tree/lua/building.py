"""From what a script made to a tree: every call of BT is judged against the kinds of nodes there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from endstop.tree.kinds import KINDS, Group, Kind, Takes
from endstop.tree.lua.sandbox import Made
from endstop.tree.lua.wording import meant, worded
from endstop.tree.problems import Problem
from endstop.tree.spec import KeySpec, KeyType, NodeSpec, PlainValue, TreeSpec

_NAMED_AFTER = ("fn", "expression", "tool", "tree")
_OF_EVERY_NODE = ("name", "child", "children")
_OF_A_TREE = ("doc", "blackboard", "root")
_OF_A_KEY = ("type", "default", "doc")
_DOTTED = re.compile(r"\w+(\.\w+)+\Z")
_ENDS_THE_SCRIPT = frozenset(
    {"syntax", "error", "odd_error", "not_utf8_text", "long_file", "deep_tree", "too_long"}
)


@dataclass(slots=True, kw_only=True)
class Builder:
    """Builds the tree of one file, and gathers everything that is wrong with it."""

    file: str
    problems: list[Problem] = field(default_factory=list[Problem])

    def build(self, made: Made) -> TreeSpec | None:
        """The tree, or None; if there are problems it is not to be used."""
        self.problems += worded(made.problems, self.file)
        nodes: list[NodeSpec] = []
        for call in made.nodes:
            nodes.append(self._node(call, nodes))
        trees = [self._tree(call, nodes) for call in made.trees]
        for line, name, *_ in made.trees[1:]:
            self._add(line, f"There is a second tree, {name!r}", "Write one tree per file")
        if not trees and not any(_has_ended(what) for _, what, *_ in made.problems):
            self._add(None, "The file makes no tree", 'End it with return BT.tree("name", { root = … })')
        return trees[0] if trees else None

    def _add(self, line: int | None, what: str, to_do: str) -> None:
        self.problems.append(Problem(file=self.file, line=line, what=what, to_do=to_do))

    def _node(self, call: list[Any], nodes: list[NodeSpec]) -> NodeSpec:
        kind_name, line, words, given, children = call
        parameters: dict[str, PlainValue] = _ordered(given)
        kind = KINDS.get(kind_name)
        name = parameters.pop("name", None)
        if name is not None and not (isinstance(name, str) and name):
            self._add(line, f"The name of BT.{kind_name} is not a text", "Give it a name in quotation marks")
            name = None
        if kind is None:
            self._add(
                line, f"There is no BT.{kind_name}", meant(kind_name, (*KINDS, "tree"), _kinds_there_are())
            )
        else:
            if words is not None:
                parameters = _completed(kind, words, parameters)
            self._check_parameters(kind, line, parameters)
        named_after = (parameters.get(one) for one in _NAMED_AFTER)
        spec = NodeSpec(
            kind=kind_name,
            name=name
            or words
            or next((one for one in named_after if isinstance(one, str) and one), kind_name),
            parameters=MappingProxyType(parameters),
            children=tuple(nodes[child] for child in children if isinstance(child, int)),
            line=line,
        )
        self._check_children(kind, spec, children)
        return spec

    def _check_parameters(self, kind: Kind, line: int | None, parameters: Iterable[str]) -> None:
        known = tuple(one.name for one in kind.parameters)
        for name in parameters:
            if name not in known:
                takes = (
                    f"It takes {', '.join(known)}" if known else "It takes nodes and a name, and nothing else"
                )
                self._add(
                    line, f"BT.{kind.name} takes no {name!r}", meant(name, (*known, *_OF_EVERY_NODE), takes)
                )

    def _check_children(self, kind: Kind | None, node: NodeSpec, children: list[int | str]) -> None:
        of_it = f"{node.kind} {node.name!r}" if node.name != node.kind else f"this {node.kind}"
        for place, child in enumerate(children, start=1):
            if isinstance(child, str):
                self._add(
                    node.line, f"Child {place} of {of_it} is {_told(child)}, not a node", _instead(child)
                )
        if kind is None:
            return
        count = len(children)
        if count < kind.least_children:
            self._add(node.line, f"There is no node in {of_it}", f"Put one into it: BT.{kind.name}{{ … }}")
        elif kind.most_children is not None and count > kind.most_children:
            takes = "no nodes" if kind.most_children == 0 else "one node"
            to_do = (
                "Put them beside it" if kind.group is Group.LEAF else "Put them into a sequence or selector"
            )
            self._add(node.line, f"{of_it[0].upper()}{of_it[1:]} takes {takes}, and has {count}", to_do)

    def _tree(self, call: list[Any], nodes: list[NodeSpec]) -> TreeSpec:
        line, name, root, given = call
        if name == "":
            self._add(line, "The tree has no name", 'Write BT.tree("name", { root = … })')
        for part in given:
            if part not in _OF_A_TREE:
                self._add(
                    line,
                    f"BT.tree takes no {part!r}",
                    meant(part, _OF_A_TREE, f"It takes {', '.join(_OF_A_TREE)}"),
                )
        if root is None:
            self._add(line, "The tree has no root", "Give it one: root = BT.sequence{ … }")
        elif isinstance(root, str):
            self._add(line, f"The root is {_told(root)}, not a node", _instead(root))
        doc = given.get("doc", "")
        if not isinstance(doc, str):
            self._add(line, "The doc of the tree is not a text", "Say in a sentence what the tree is for")
        return TreeSpec(
            name=name or "",
            doc=doc if isinstance(doc, str) else "",
            keys=self._keys(line, given.get("blackboard", {})),
            root=nodes[root] if isinstance(root, int) else NodeSpec(kind="sequence", name=""),
            file=self.file,
        )

    def _keys(self, line: int | None, declared: object) -> tuple[KeySpec, ...]:
        if not isinstance(declared, Mapping):
            self._add(
                line, "The blackboard is not a table with names", 'Write blackboard = { key = "string" }'
            )
            return ()
        return tuple(
            self._key(line, name, it) for name, it in _ordered(cast("dict[str, Any]", declared)).items()
        )

    def _key(self, line: int | None, name: str, declared: PlainValue) -> KeySpec:
        parts: dict[str, PlainValue] = declared if isinstance(declared, dict) else {"type": declared}
        for part in parts:
            if part not in _OF_A_KEY:
                to_do = meant(part, _OF_A_KEY, f"It takes {', '.join(_OF_A_KEY)}")
                self._add(line, f"The key {name!r} takes no {part!r}", to_do)
        said = parts.get("type", KeyType.ANY.value)
        types = tuple(one.value for one in KeyType)
        if said not in types:
            to_do = meant(str(said), types, f"Use one of {', '.join(types)}")
            self._add(line, f"The key {name!r} is of type {said!r}, which there is not", to_do)
            said = KeyType.ANY
        key_type = KeyType(cast("str", said))
        default = parts.get("default")
        doc = parts.get("doc", "")
        if not isinstance(doc, str):
            self._add(line, f"The doc of the key {name!r} is not a text", "Say in a few words what it holds")
        return KeySpec(
            name=name,
            type=key_type,
            # An empty table of Lua is a list or a map: only the type can tell.
            default=[] if default == {} and key_type is KeyType.LIST else default,
            doc=doc if isinstance(doc, str) else "",
            line=line,
        )


def _completed(kind: Kind, words: str, parameters: dict[str, PlainValue]) -> dict[str, PlainValue]:
    """The parameters of a leaf with ``words`` for the one that it lacks, if it lacks one."""
    if kind.group is not Group.LEAF:
        return parameters
    lacking = [one.name for one in kind.parameters if one.is_required and one.name not in parameters]
    if kind.one_of and not any(name in parameters for name in kind.one_of):
        takes = Takes.CONDITION if _DOTTED.match(words) else Takes.EXPRESSION
        lacking += [one.name for one in kind.parameters if one.name in kind.one_of and one.takes is takes]
    if not parameters and kind.parameter("prompt") is not None:
        lacking = ["prompt"]  # a model call with nothing but a text: that is what the model is told
    return _ordered({**parameters, lacking[0]: words}) if len(lacking) == 1 else parameters


def _ordered(given: Mapping[str, Any]) -> dict[str, PlainValue]:
    """In the order of the names, all the way down: Lua's own order is another one each time."""
    return {name: _ordered_value(given[name]) for name in sorted(given)}


def _ordered_value(value: Any) -> PlainValue:
    if isinstance(value, dict):
        return _ordered(cast("dict[str, Any]", value))
    return [_ordered_value(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _told(child: str) -> str:
    if child.startswith("text "):
        return f"the text {child.removeprefix('text ')!r}"
    return "nil" if child == "nil" else f"a {child}"


def _instead(child: str) -> str:
    if child == "tree":
        return "Write one tree per file, and name the other: BT.subtree_ref(name)"
    if child.startswith("text "):
        return "A text stands before the table: BT.kind(text, { … })"
    return "Check the spelling of what stands there"


def _kinds_there_are() -> str:
    return f"There are {', '.join(KINDS)}"


def _has_ended(what: str) -> bool:
    return what in _ENDS_THE_SCRIPT or what.startswith("too_m")
