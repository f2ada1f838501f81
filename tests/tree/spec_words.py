"""Trees in few words, for the tests of what is done with a tree before it runs."""

from typing import Any

from endstop.tree.spec import KeySpec, NodeSpec, TreeSpec


def node(
    kind: str, *children: NodeSpec, name: str = "", line: int | None = None, **parameters: Any
) -> NodeSpec:
    return NodeSpec(kind=kind, name=name or kind, parameters=parameters, children=children, line=line)


def tree(name: str, root: NodeSpec, *subtrees: TreeSpec, keys: tuple[KeySpec, ...] = ()) -> TreeSpec:
    return TreeSpec(name=name, root=root, keys=keys, file=f"{name}.lua", subtrees=subtrees)


def ref(name: str, *, line: int | None = None) -> NodeSpec:
    return node("subtree_ref", name=name, line=line, tree=name)


def check(expression: str = "true") -> NodeSpec:
    return node("condition", expression=expression)


def doubling(levels: int) -> dict[str, TreeSpec]:
    """Trees of which each refers twice to the next: small as text, beyond all counting when written out."""
    trees = {
        f"t{n}": tree(f"t{n}", node("sequence", ref(f"t{n + 1}"), ref(f"t{n + 1}"))) for n in range(levels)
    }
    return {**trees, f"t{levels}": tree(f"t{levels}", check())}


def nested(levels: int, *, kind: str = "inverter", **parameters: Any) -> NodeSpec:
    """A node below a node below a node."""
    one = check()
    for _ in range(levels - 1):
        one = node(kind, one, **parameters)
    return one


def shared(levels: int) -> NodeSpec:
    """Each node has the next one below it twice: the same object, so few of them say very much."""
    one = check()
    for _ in range(levels - 1):
        one = node("sequence", one, one)
    return one


def nowhere(_name: str) -> TreeSpec | None:
    """Finds no tree at all."""
    return None
