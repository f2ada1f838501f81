"""Which keys can be seen where: those of the tree, of the trees that refer to it, of subtrees, of leaves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from endstop.errors import InvalidValueError, brief
from endstop.kernel.texts import closest
from endstop.tree.expression import RESERVED
from endstop.tree.keys import keys_of
from endstop.tree.leaves import Leaves
from endstop.tree.plain_values import require_type
from endstop.tree.references import MOST_NODES, referred
from endstop.tree.spec import KeySpec, KeyType, NodeSpec, PlainValue, TreeSpec

Scope: TypeAlias = Mapping[str, frozenset[KeyType]]
"""The keys that can be seen, each with the types it may have: one, or more on several ways to here."""

KEY_RULE = "a letter or _, then letters, digits and _, at most 100; not a word of expressions, such as and"
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_ENTRIES = ("type", "default", "doc")


def scopes_of(tree: TreeSpec, leaves: Leaves) -> Mapping[str, Scope]:
    """What the root of each tree sees, by the name of the tree: its own keys and those on every way to it.

    The size of the whole must have been checked before: there could be no end of ways.
    """
    trees = {one.name: one for one in (*tree.subtrees, tree)}
    board = _with({}, keys_of(tree, leaves))
    outside: dict[str, Scope] = {tree.name: board}
    waiting = dict.fromkeys([tree.name])
    while waiting:
        name, _ = waiting.popitem()
        for node, scope in scoped(trees[name].root, _with(outside[name], trees[name].keys)):
            target = referred(node)
            if target not in trees:
                continue
            wider = _joined(outside.get(target, {}), scope)
            if wider != outside.get(target):
                outside[target] = wider
                waiting[target] = None
    return {name: _with(outside.get(name, board), one.keys) for name, one in trees.items()}


def scoped(root: NodeSpec, scope: Scope) -> Iterator[tuple[NodeSpec, Scope]]:
    """The nodes of one tree, each before its children, with the keys it can see; as many as are allowed."""
    return islice(_scoped(root, scope), MOST_NODES)


def own_keys(node: NodeSpec) -> tuple[KeySpec, ...]:
    """The keys that a ``subtree`` has of its own, as far as they can be read."""
    given = node.parameters.get("blackboard") if node.kind == "subtree" else None
    return tuple(_keys(given)) if isinstance(given, dict) else ()


def key_problems(keys: Iterable[KeySpec]) -> Iterator[tuple[KeySpec, str, str]]:
    """What is wrong with keys that are declared together, and what to do about it."""
    seen: set[str] = set()
    for key in keys:
        if key.name in seen:
            yield key, f"The key {key.name!r} is declared twice", "Leave one out"
        seen.add(key.name)
        if _KEY.match(key.name) is None or key.name in RESERVED:
            yield key, f"{brief(key.name)} cannot be the name of a key", f"Use {KEY_RULE}"
        try:
            require_type("default", key.default, key.type)
        except InvalidValueError as error:
            yield key, f"The default of the key {key.name!r} is {brief(key.default)}", f"Use {error.allowed}"


def own_key_problems(given: PlainValue) -> Iterator[tuple[str, str]]:
    """What cannot be read as keys of a ``subtree``."""
    for name, said in given.items() if isinstance(given, dict) else ():
        entries = said if isinstance(said, dict) else {"type": said}
        for entry in entries:
            if entry not in _ENTRIES:
                meant = closest(str(entry), _ENTRIES)
                to_do = f"Perhaps {meant!r} was meant" if meant else f"Allowed: {', '.join(_ENTRIES)}"
                yield f"The key {name!r} has an entry {entry!r}", to_do
        if _type(entries.get("type", KeyType.ANY)) is None:
            types = ", ".join(KeyType)
            yield f"The type of the key {name!r} is {brief(entries.get('type'))}", f"Use one of {types}"


def do_agree(declared: KeyType, written: KeyType) -> bool:
    """Whether what is written can stand under a key of the declared type."""
    if KeyType.ANY in (declared, written) or declared is written:
        return True
    return declared is KeyType.NUMBER and written is KeyType.INTEGER


def _scoped(root: NodeSpec, scope: Scope) -> Iterator[tuple[NodeSpec, Scope]]:
    waiting = [(root, scope)]
    while waiting:
        node, outer = waiting.pop()
        yield node, outer
        keys = own_keys(node)
        inner = _with(outer, keys) if keys else outer
        waiting.extend((child, inner) for child in reversed(node.children))


def _keys(given: Mapping[str, PlainValue]) -> Iterator[KeySpec]:
    for name, said in given.items():
        entries = said if isinstance(said, dict) else {"type": said}
        key_type = _type(entries.get("type", KeyType.ANY))
        yield KeySpec(name=name, type=key_type or KeyType.ANY, default=entries.get("default"))


def _type(said: PlainValue) -> KeyType | None:
    return next((one for one in KeyType if one == said), None)


def _with(scope: Scope, keys: Iterable[KeySpec]) -> Scope:
    """The scope with keys that hide those of the same name outside."""
    return {**scope, **{key.name: frozenset({key.type}) for key in keys}}


def _joined(first: Scope, second: Scope) -> Scope:
    nothing: frozenset[KeyType] = frozenset()
    return {key: first.get(key, nothing) | second.get(key, nothing) for key in {**first, **second}}
