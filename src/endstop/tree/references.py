"""References between trees: followed, each once, and measured without being written out.

A tree that refers twice to one that refers twice to a third, and so on, is small as text and huge as a tree.
So nothing here expands: what is below a node is reckoned once, however often it is referred to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from endstop.errors import TreeError
from endstop.kernel.texts import closest
from endstop.tree.problems import Problem
from endstop.tree.spec import NodeSpec, TreeSpec

MOST_NODES = 2_000
MOST_LEVELS = 60
MOST_PROBLEMS = 200
"""Told at once. Whoever has so many does not need the rest."""

_UNCOUNTABLE = 10**9
"""Counted no further: no message needs more."""

Result = TypeVar("Result")
Find = Callable[[str], TreeSpec | None]


def resolved(
    tree: TreeSpec, find: Find, *, names: Collection[str] = ()
) -> tuple[TreeSpec, tuple[Problem, ...]]:
    """The tree with every tree it refers to, in the order in which a reader meets them, and what is wrong.

    ``find`` is asked once for each name; ``names`` are those it knows, for suggestions.
    """
    search = _Search(tree, find, names)
    search.run()
    whole = replace(tree, subtrees=tuple(search.found.values()))
    return whole, (*search.problems, *size_problems(whole))


def referred(node: NodeSpec) -> str | None:
    """The name of the tree that a node refers to, if it does."""
    name = node.parameters.get("tree") if node.kind == "subtree_ref" else None
    return name if isinstance(name, str) else None


def below(tree: TreeSpec) -> Callable[[NodeSpec], Sequence[NodeSpec]]:
    """What stands below each node of a whole tree: the root of the tree it refers to, or its children."""
    roots = {one.name: one.root for one in (*tree.subtrees, tree)}

    def children(node: NodeSpec) -> Sequence[NodeSpec]:
        name = referred(node)
        if name is None:
            return node.children
        return (roots[name],) if name in roots else ()

    return children


def folded(
    tree: TreeSpec, combine: Callable[[NodeSpec, Sequence[Result]], Result], *, nothing: Result
) -> Result:
    """What ``combine`` makes of each node and of what it made of those below, up to the root.

    Each node is combined once, whatever refers to it, and however deep it stands. ``nothing`` stands for a
    node that is below itself: a circle, which is refused elsewhere.
    """
    done: dict[int, Result] = {}
    for node, below_it in _from_below(tree):
        done[id(node)] = combine(node, [done.get(child, nothing) for child in below_it])
    return done[id(tree.root)]


_Order = list[tuple[NodeSpec, tuple[int, ...]]]
"""Nodes, each with the ids of those below it."""


def _from_below(tree: TreeSpec) -> _Order:
    """All nodes, each once and after those below it. Worked out once: a tree is folded several times."""
    known = tree.worked_out.get(_from_below)
    if known is None:
        known = tree.worked_out[_from_below] = _ordered(tree)
    return cast("_Order", known)


def _ordered(tree: TreeSpec) -> _Order:
    children = below(tree)
    order: _Order = []
    done: set[int] = set()
    open_: dict[int, tuple[int, ...]] = {}
    waiting = [tree.root]
    while waiting:
        node = waiting[-1]
        at = id(node)
        if at in done:
            waiting.pop()
        elif at in open_:
            order.append((node, open_.pop(at)))
            done.add(at)
            waiting.pop()
        else:
            below_it = children(node)
            open_[at] = tuple([id(child) for child in below_it])
            waiting += [child for child in below_it if id(child) not in open_ and id(child) not in done]
    return order


def size_problems(tree: TreeSpec) -> tuple[Problem, ...]:
    """What is wrong with the size of a tree, all it refers to written out."""
    known = tree.worked_out.get(size_problems)
    if known is None:
        known = tree.worked_out[size_problems] = _size_problems(tree)
    return cast("tuple[Problem, ...]", known)


def _size_problems(tree: TreeSpec) -> tuple[Problem, ...]:
    nodes, levels = folded(tree, _size, nothing=(0, 0))
    found: list[str] = []
    if nodes > MOST_NODES:
        count = f"{nodes:,}" if nodes < _UNCOUNTABLE else f"more than {_UNCOUNTABLE:,}"
        found.append(
            f"With the trees it refers to, {tree.name!r} has {count} nodes; {MOST_NODES:,} are allowed"
        )
    if levels > MOST_LEVELS:
        found.append(
            f"With the trees it refers to, {tree.name!r} has {levels:,} levels; {MOST_LEVELS} are allowed"
        )
    to_do = "Make it smaller; a loop does the same thing many times with one node"
    return tuple(Problem(file=tree.file, line=tree.root.line, what=what, to_do=to_do) for what in found)


def _size(node: NodeSpec, below_it: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """How many nodes and levels there are from a node on."""
    del node
    nodes = 1 + sum(nodes for nodes, _ in below_it)
    return min(nodes, _UNCOUNTABLE), 1 + max((levels for _, levels in below_it), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """A node that refers to a tree."""

    name: str
    file: str
    line: int | None

    def problem(self, what: str, to_do: str = "") -> Problem:
        return Problem(file=self.file, line=self.line, what=what, to_do=to_do)


class _Search:
    """From a tree to all it refers to, deepest first."""

    def __init__(self, tree: TreeSpec, find: Find, names: Collection[str]) -> None:
        self.found: dict[str, TreeSpec] = {}
        self.problems: list[Problem] = []
        self._find = find
        self._names = names
        self._missing: set[str] = set()
        self._way = {tree.name: _mentions(tree)}
        """The trees from the first one to the one being read, and what is left to follow in each."""

    def run(self) -> None:
        while self._way and len(self.problems) < MOST_PROBLEMS:
            name, mentions = next(reversed(self._way.items()))
            mention = next(mentions, None)
            if mention is None:
                del self._way[name]
            elif mention.name in self._way:
                self._refuse_circle(mention)
            elif mention.name not in self.found and mention.name not in self._missing:
                self._follow(mention)

    def _follow(self, mention: _Mention) -> None:
        if len(self._way) > MOST_LEVELS or len(self.found) >= MOST_NODES:
            self._missing.add(mention.name)
            self.problems.append(
                mention.problem("References lead too far to be followed", "Make the tree smaller")
            )
            return
        tree = self._found(mention)
        if tree is None:
            self._missing.add(mention.name)
            return
        self.found[mention.name] = replace(tree, subtrees=())
        self._way[mention.name] = _mentions(tree)

    def _found(self, mention: _Mention) -> TreeSpec | None:
        try:
            tree = self._find(mention.name)
        except TreeError as error:  # its file is broken: that is one of the problems of this tree
            self.problems.append(
                mention.problem(f"The tree {mention.name!r} cannot be used", "Mend it first")
            )
            self.problems += [Problem(what=problem.rstrip(".")) for problem in error.problems]
            return None
        if tree is None:
            meant = closest(mention.name, self._names)
            to_do = f"Perhaps {meant!r} was meant" if meant else "Name a tree that there is"
            self.problems.append(mention.problem(f"There is no tree {mention.name!r}", to_do))
        elif tree.name != mention.name:
            self.problems.append(mention.problem(f"The tree {mention.name!r} calls itself {tree.name!r}"))
            return None
        return tree

    def _refuse_circle(self, mention: _Mention) -> None:
        way = list(self._way)
        circle = " → ".join([*way[way.index(mention.name) :], mention.name])
        self.problems.append(
            mention.problem(
                f"The reference to {mention.name!r} closes a circle: {circle}",
                "Use a loop, such as repeat_until, to do something again",
            )
        )


def _mentions(tree: TreeSpec) -> Iterator[_Mention]:
    """The references in a tree, as they are met; a node that stands in it twice is looked at once."""
    seen: set[int] = set()
    waiting = [tree.root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        name = referred(node)
        if name is not None:
            yield _Mention(name=name, file=tree.file, line=node.line)
        waiting.extend(reversed(node.children))
