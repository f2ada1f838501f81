"""What a tree can use at most, told: in one pass, and in a whole run (A13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endstop.cli.bound import BOUND_NAMES, bound_shown, bound_values, bound_words
from endstop.cli.output import Column, Output
from endstop.loop.agent import Retries
from endstop.oracle.leaves import LEAVES
from endstop.oracle.steering import counts_of
from endstop.tree.bounds import TreeBound, tree_bound

if TYPE_CHECKING:
    from endstop.kernel.budget import Budget
    from endstop.tree.spec import TreeSpec

_COLUMNS = (
    Column(name="at most"),
    Column(name="per pass", is_number=True),
    Column(name="per run", is_number=True),
)
CALLS_PER_TURN = Retries().attempts


def bound_under(tree: TreeSpec, budget: Budget) -> TreeBound:
    """What a run of this tree can use at most under this budget."""
    return tree_bound(
        tree, leaves=LEAVES, counts=counts_of(budget), budget=budget, calls_per_turn=CALLS_PER_TURN
    )


def tell_tree_bound(output: Output, tree: TreeSpec, budget: Budget, whose: str) -> None:
    """Print the bound of a tree. ``whose`` says where its budget is from."""
    bound = bound_under(tree, budget)
    if output.is_json:
        output.document({"tree": tree.name, "of": f"the tree {tree.name} under {whose}", **bound_json(bound)})
        return
    output.say(f"A run of the tree {tree.name} under {whose} uses at most:")
    rows = [
        (bound_words(name), bound_shown(bound.per_pass, name), bound_shown(bound.per_run, name))
        for name in BOUND_NAMES
    ]
    output.table(_COLUMNS, rows)
    output.say(
        f"One pass runs at most {bound.per_pass.leaf_runs:,} leaves. The run's limits hold whatever the tree "
        f"does. A turn may try its model call {CALLS_PER_TURN} times. All grants together add at most "
        f"{budget.grant_cap:g} times each limit."
    )


def bound_json(bound: TreeBound) -> dict[str, object]:
    """The bound of a tree, for programs."""
    return {
        "per_pass": {**bound_values(bound.per_pass), "leaf_runs": bound.per_pass.leaf_runs},
        "per_run": bound_values(bound.per_run),
    }
