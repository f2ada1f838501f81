"""Which keys the blackboard of a tree has: those it declares, and those that its leaves write."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from endstop.errors import InvalidValueError
from endstop.tree.leaves import Leaf, Leaves
from endstop.tree.spec import KeySpec, KeyType, NodeSpec, PlainValue, TreeSpec

_FORMS = 'keys as in { notes = "string", tries = { type = "integer", default = 3 } }'


def keys_of(tree: TreeSpec, leaves: Leaves) -> tuple[KeySpec, ...]:
    """The keys of a whole tree's own board.

    What a leaf writes belongs there, too, unless a subtree on the way to the leaf has a key of that name.
    """
    found = {key.name: key for key in tree.keys}
    waiting: list[tuple[NodeSpec, frozenset[str]]] = [(tree.root, frozenset())]
    seen: set[tuple[int, frozenset[str]]] = set()
    while waiting:
        node, own = waiting.pop()
        if (id(node), own) in seen:
            continue
        seen.add((id(node), own))
        for name, key_type in _written(node, leaves):
            if name not in own and name not in found:
                found[name] = KeySpec(name=name, type=key_type)
        below, more = _below(tree, node)
        waiting += [(child, own | more) for child in reversed(below)]
    return tuple(found.values())


def subtree_keys(node: NodeSpec) -> tuple[KeySpec, ...]:
    """The keys that a ``subtree`` node declares, each as the name of its type or as a table."""
    declared = node.parameters.get("blackboard")
    if not declared:
        return ()
    if not isinstance(declared, dict):
        raise InvalidValueError("blackboard", declared, allowed=_FORMS)
    return tuple(_key(name, value) for name, value in declared.items())


def _key(name: str, value: PlainValue) -> KeySpec:
    table = value if isinstance(value, dict) else {"type": value}
    try:
        key_type = KeyType(table.get("type", KeyType.ANY))
    except ValueError:
        raise InvalidValueError(
            f"type of key {name!r}", table.get("type"), allowed=", ".join(KeyType)
        ) from None
    return KeySpec(name=name, type=key_type, default=table.get("default"), doc=str(table.get("doc") or ""))


def _written(node: NodeSpec, leaves: Leaves) -> list[tuple[str, KeyType]]:
    leaf: Leaf | None = leaves.get(str(node.parameters.get("fn")))
    writes: Mapping[str, KeyType] = {} if leaf is None else leaf.writes
    return list(writes.items())


def _below(tree: TreeSpec, node: NodeSpec) -> tuple[tuple[NodeSpec, ...], frozenset[str]]:
    """The nodes below a node, and the keys that are their own."""
    if node.kind == "subtree":
        with suppress(InvalidValueError):  # refused when it is built, with its line
            return node.children, frozenset(key.name for key in subtree_keys(node))
    if node.kind == "subtree_ref":
        referred = tree.subtree(str(node.parameters.get("tree")))
        if referred is not None:
            return (referred.root,), frozenset(key.name for key in referred.keys)
    return node.children, frozenset()
