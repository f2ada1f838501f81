"""All that is wrong with trees, or what they can use at most if nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from endstop.cli.named_tree import tree_meant
from endstop.cli.output import Output
from endstop.cli.texts import count
from endstop.cli.tree_bounds import bound_json, bound_under
from endstop.errors import TreeError
from endstop.tree.draw import expanded

if TYPE_CHECKING:
    from endstop.kernel.budget import Budget
    from endstop.tree.bounds import TreeBound
    from endstop.tree.files import TreeLibrary


@dataclass(frozen=True, slots=True, kw_only=True)
class Usable:
    """A tree with which nothing is wrong."""

    name: str
    nodes: int
    bound: TreeBound


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """What came of looking at a tree: either it is usable, or it has problems."""

    given: str
    usable: Usable | None = None
    problems: tuple[str, ...] = ()


def looked_at(given: str, library: TreeLibrary, budget: Budget) -> LookedAt:
    """Look at the tree that is meant."""
    try:
        tree = tree_meant(given, library)
    except TreeError as error:
        return LookedAt(given=given, problems=error.problems or (str(error),))
    usable = Usable(name=tree.name, nodes=sum(1 for _ in expanded(tree)), bound=bound_under(tree, budget))
    return LookedAt(given=given, usable=usable)


def tell_looked_at(output: Output, trees: Sequence[LookedAt]) -> None:
    """Print what came of it, tree by tree."""
    if output.is_json:
        output.document([_json(one) for one in trees])
        return
    for one in trees:
        if one.usable is not None:
            output.say(
                f"{one.given}: no problems: {count(one.usable.nodes, 'node')}, bound of a run: "
                f"{one.usable.bound.per_run}",
                style="green",
            )
            continue
        output.say(f"{one.given}: {count(len(one.problems), 'problem')}", style="bold red")
        for problem in one.problems:
            output.say(f"  {problem}")


def _json(one: LookedAt) -> dict[str, object]:
    usable = one.usable
    bounds = {"per_pass": None, "per_run": None} if usable is None else bound_json(usable.bound)
    return {
        "given": one.given,
        "tree": None if usable is None else usable.name,
        "nodes": None if usable is None else usable.nodes,
        "problems": list(one.problems),
        **bounds,
    }
