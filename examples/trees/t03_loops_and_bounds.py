"""Loops, what they can cost at most, and a tree that is refused with all its problems at once.

Every loop names its bound. So what a tree can do at most is known before it runs, and a tree of which
nobody can know it does not run at all.

Run it: python examples/trees/t03_loops_and_bounds.py
"""

import asyncio

from endstop.errors import TreeError
from endstop.kernel.budget import Budget
from endstop.tree import LeafContext, Leaves, Tree, checked, read_tree, tree_bound

LETTERS = """
return BT.tree("letters", {
    blackboard = { people = { type = "list", default = { "ann", "bob" } }, person = "string" },
    root = BT.for_each("everybody", { items = "people", item = "person", max = 20,
        BT.retry("three tries", { attempts = 3, BT.action("post.send", { args = { to = "$person" } }) }),
    }),
})
"""

BROKEN = """
return BT.tree("broken", {
    root = BT.sequence {
        BT.retry { BT.action("post.sent") },
        BT.condition("persn == 'ann'"),
        BT.repeat_until { max = 10000, ends_in = "success",
            BT.retry { attempts = 1000, BT.action("post.send", { args = { to = "ann" } }) } },
    },
})
"""

leaves = Leaves()
tries: list[str] = []


@leaves.action("post.send")
def send(leaf: LeafContext, *, to: str) -> bool:
    """Send a letter. The post is shut at the first try of the day."""
    tries.append(to)
    print(f"   letter to {to}: {'sent' if len(tries) > 1 else 'the post is shut'}")
    return len(tries) > 1


spec = checked(read_tree(LETTERS, file="letters.lua"), leaves=leaves)

# 20 people, 3 tries each. "$person" above is what the blackboard holds at that moment.
bound = tree_bound(spec, leaves=leaves, counts={}, budget=Budget(turns=10), calls_per_turn=1)
print(f"At most {bound.per_pass.leaf_runs} letters, {bound.per_pass.turns} turns of a model.")

# A loop does one round per tick, so that whoever ticks it can look at its limits in between. run() ticks on.
tree = Tree(spec, leaves=leaves)
print(asyncio.run(tree.run()).value)

try:
    checked(read_tree(BROKEN, file="broken.lua"), leaves=leaves)
except TreeError as error:
    print(error)  # error.problems has them one by one
