"""Everything that is wrong with a tree, found before it runs: all at once, each with file and line (E3)."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from endstop.errors import InvalidValueError, brief
from endstop.kernel.texts import closest
from endstop.tree.arguments import PLACEHOLDER
from endstop.tree.bounds import bound_problems
from endstop.tree.expression import parse
from endstop.tree.kinds import KINDS, Kind, Parameter, Takes
from endstop.tree.leaf_arguments import argument_problems, keys_named
from endstop.tree.leaves import Leaf, Leaves
from endstop.tree.parameters import allowed_instead, meant_instead
from endstop.tree.problems import Problem, refused
from endstop.tree.references import MOST_PROBLEMS, Find, resolved, size_problems
from endstop.tree.scopes import Scope, do_agree, key_problems, own_key_problems, own_keys, scoped, scopes_of
from endstop.tree.spec import KeyType, NodeSpec, PlainValue, TreeSpec

MOST_NAME_CHARS = 100

_KEY_TYPES: Mapping[str, frozenset[KeyType]] = {
    "output": frozenset({KeyType.STRING, KeyType.ANY}),
    "items": frozenset({KeyType.LIST, KeyType.ANY}),
}
"""The types that a key must have for what is done with it."""


def _nothing_found(_: str) -> TreeSpec | None:
    return None


def checked(
    tree: TreeSpec,
    find: Find = _nothing_found,
    *,
    leaves: Leaves,
    tools: Collection[str] | None = None,
    names: Collection[str] = (),
) -> TreeSpec:
    """The tree with all it refers to, ready to run; ``TreeError`` with every problem if it cannot be.

    ``find`` gives the trees that it may refer to, by their names.
    """
    whole, problems = resolved(tree, find, names=names)
    found = dict.fromkeys(
        (
            *problems,
            *problems_of(whole, leaves=leaves, tools=tools),
            *bound_problems(whole, leaves=leaves),
        )
    )
    if found:
        raise refused(tree.name, sorted(found, key=lambda one: (one.file, one.line or 0)))
    return whole


def problems_of(
    tree: TreeSpec, *, leaves: Leaves, tools: Collection[str] | None = None
) -> tuple[Problem, ...]:
    """What is wrong with a tree and with those it refers to, references and bounds aside.

    ``tools`` are the names that ``tool_call`` may use; None if nobody knows them yet.
    """
    found = tuple(islice(_all_problems(tree, leaves, tools), MOST_PROBLEMS + 1))
    if len(found) <= MOST_PROBLEMS:
        return found
    more = Problem(file=tree.file, what="There are more problems than can be told at once")
    return (*found[:MOST_PROBLEMS], more)


def _all_problems(tree: TreeSpec, leaves: Leaves, tools: Collection[str] | None) -> Iterator[Problem]:
    too_large = size_problems(tree)
    if too_large:  # what is wrong in it would be too much to tell, and to find
        yield from too_large
        return
    scopes = scopes_of(tree, leaves)
    for one in (tree, *tree.subtrees):
        if not one.name or len(one.name) > MOST_NAME_CHARS:
            yield Problem(
                file=one.file,
                line=one.root.line,
                what=f"The name of a tree is {brief(one.name)}",
                to_do=_NAME_RULE,
            )
        for key, what, to_do in key_problems(one.keys):
            yield Problem(file=one.file, line=key.line, what=what, to_do=to_do)
        for node, scope in scoped(one.root, scopes[one.name]):
            yield from _NodeCheck(
                file=one.file, node=node, scope=scope, leaves=leaves, tools=tools
            ).problems()


_NAME_RULE = f"Give it a name of 1 to {MOST_NAME_CHARS} characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class _NodeCheck:
    """One node, and all it takes to judge it."""

    file: str
    node: NodeSpec
    scope: Scope
    leaves: Leaves
    tools: Collection[str] | None

    def problems(self) -> Iterator[Problem]:
        if not self.node.name.strip() or len(self.node.name) > MOST_NAME_CHARS:
            yield self._problem(f"The name of a {self.node.kind} is {brief(self.node.name)}", _NAME_RULE)
        kind = KINDS.get(self.node.kind)
        if kind is None:
            yield self._problem(
                f"There is no kind of node {brief(self.node.kind)}",
                _perhaps(self.node.kind, KINDS) or f"Use one of {', '.join(KINDS)}",
            )
            return
        yield from self._children(kind)
        yield from self._given(kind)
        for name, value in self.node.parameters.items():
            parameter = kind.parameter(name)
            if parameter is not None:
                yield from self._value(parameter, value)

    def _children(self, kind: Kind) -> Iterator[Problem]:
        many = len(self.node.children)
        if many < kind.least_children:
            yield self._problem(f"{self._label} has no node below it", "Give it one")
        if kind.most_children is not None and many > kind.most_children:
            allowed = "takes none" if kind.most_children == 0 else "takes one"
            to_do = "Leave them out" if kind.most_children == 0 else "Put them into a sequence"
            yield self._problem(f"{self._label} has {many:,} nodes below it, and {allowed}", to_do)

    def _given(self, kind: Kind) -> Iterator[Problem]:
        """Which parameters there are, whatever they say."""
        given = self.node.parameters
        names = [parameter.name for parameter in kind.parameters]
        for name in given:
            if name not in names:
                to_do = _perhaps(str(name), names) or f"It takes: {', '.join(names) or 'nothing'}"
                yield self._problem(f"{self._label} takes no {brief(name)}", to_do)
        for parameter in kind.parameters:
            if parameter.is_required and parameter.name not in given:
                yield self._problem(f"{self._label} needs {parameter.name}", f"Say {parameter.doc}")
        chosen = [name for name in kind.one_of if name in given]
        if kind.one_of and len(chosen) != 1:
            has = " and ".join(chosen) or "none"
            yield self._problem(
                f"{self._label} needs one of {', '.join(kind.one_of)}, and has {has}", "Give one"
            )
        if kind.at_least_one_of and not any(name in given for name in kind.at_least_one_of):
            listed = ", ".join(kind.at_least_one_of)
            yield self._problem(f"{self._label} limits nothing", f"Give at least one of {listed}")
        if "fn" in names and "args" in given and "fn" not in given:
            yield self._problem(
                f"{self._label} has args, but no fn that takes them", "Leave them out, or give fn"
            )

    def _value(self, parameter: Parameter, value: PlainValue) -> Iterator[Problem]:
        """What a parameter says: its sort first, and only then what it stands for."""
        allowed = allowed_instead(parameter, value, children=len(self.node.children))
        if allowed is not None:
            meant = meant_instead(parameter, value)
            to_do = f"Perhaps {meant!r} was meant; allowed: {allowed}" if meant else f"Allowed: {allowed}"
            yield self._problem(f"{parameter.name!r} of {self._label} is {brief(value)}", to_do)
            return
        text = value if isinstance(value, str) else ""
        match parameter.takes:
            case Takes.CONDITION | Takes.ACTION:
                yield from self._leaf(text, is_action=parameter.takes is Takes.ACTION)
            case Takes.EXPRESSION:
                yield from self._expression(text)
            case Takes.KEY:
                yield from self._key(text, _KEY_TYPES.get(parameter.name))
            case Takes.KEYS:
                yield from self._own_keys(value)
            case Takes.ARGUMENTS:
                for key in keys_named(value):
                    yield from self._key(key)
            case Takes.TEXT if parameter.name == "tool":
                yield from self._tool(text)
            case Takes.TEXT:
                for found in PLACEHOLDER.finditer(text):
                    if found["key"]:
                        yield from self._key(found["key"], or_else=", or write {{ for a brace")
            case _:
                pass

    def _leaf(self, name: str, *, is_action: bool) -> Iterator[Problem]:
        sort, other = ("an action", "a condition") if is_action else ("a condition", "an action")
        leaf = self.leaves.get(name)
        if leaf is None:
            to_do = _perhaps_said(self.leaves.closest(name, is_action=is_action))
            if _looks_like_a_path(name):
                to_do = f"Name one that is registered for trees, never a path to import. {to_do}".rstrip(" .")
            what = f"Nothing is registered as {sort} under {brief(name)}"
            yield self._problem(what, to_do or "Register it for trees")
        elif leaf.is_action is not is_action:
            yield self._problem(f"{name!r} is {other}, and {self._label} takes {sort}")
        else:
            yield from self._leaf_use(leaf)

    def _leaf_use(self, leaf: Leaf) -> Iterator[Problem]:
        arguments = self.node.parameters.get("args", {})
        if isinstance(arguments, dict) or arguments == []:
            given = arguments if isinstance(arguments, dict) else {}
            for what, to_do in argument_problems(leaf, given):
                yield self._problem(what, to_do)
        for key, written in leaf.writes.items():
            declared = self.scope.get(key, frozenset({written}))
            if not any(do_agree(one, written) for one in declared):
                yield self._problem(
                    f"{leaf.name!r} writes {written} to the key {key!r}, which holds {_types(declared)}",
                    f"Declare it as {written}, or not at all",
                )

    def _expression(self, text: str) -> Iterator[Problem]:
        try:
            expression = parse(text)
        except InvalidValueError as error:
            yield self._problem(f"The {error.what}", f"Allowed: {error.allowed}")
            return
        for key in sorted(expression.keys):
            yield from self._key(key)

    def _key(
        self, name: str, types: frozenset[KeyType] | None = None, *, or_else: str = ""
    ) -> Iterator[Problem]:
        declared = self.scope.get(name)
        if declared is None:
            to_do = (_perhaps(name, self.scope) or "Declare it in the blackboard of the tree") + or_else
            yield self._problem(f"{self._label} uses the key {brief(name)}, which nobody declares", to_do)
        elif types is not None and not declared & types:
            yield self._problem(
                f"{self._label} uses the key {name!r}, which is declared as {_types(declared)}",
                f"Declare it as {_types(types)}",
            )

    def _own_keys(self, given: PlainValue) -> Iterator[Problem]:
        for what, to_do in own_key_problems(given):
            yield self._problem(what, to_do)
        for _, what, to_do in key_problems(own_keys(self.node)):
            yield self._problem(what, to_do)

    def _tool(self, name: str) -> Iterator[Problem]:
        if self.tools is not None and name not in self.tools:
            to_do = _perhaps(name, self.tools) or f"It has: {', '.join(sorted(self.tools)) or 'none'}"
            yield self._problem(f"The agent has no tool {brief(name)}", to_do)

    @property
    def _label(self) -> str:
        return f"the {self.node.kind} {brief(self.node.name)}"

    def _problem(self, what: str, to_do: str = "") -> Problem:
        what = what[:1].upper() + what[1:]
        return Problem(file=self.file, line=self.node.line, what=what, to_do=to_do)


def _perhaps(name: str, known: Collection[str]) -> str:
    return _perhaps_said(closest(name, known))


def _perhaps_said(meant: str | None) -> str:
    return f"Perhaps {meant!r} was meant" if meant else ""


def _looks_like_a_path(name: str) -> bool:
    return name.count(".") > 1 or name.partition(".")[0] in sys.stdlib_module_names


def _types(types: Collection[KeyType]) -> str:
    return " or ".join(sorted(types))
