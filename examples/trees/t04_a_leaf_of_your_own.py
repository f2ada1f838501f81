"""A leaf of your own: a function, registered under a name, which trees can then use.

Its keyword-only parameters are what a tree gives it in args. Its name, its arguments and the keys it
writes are checked when a tree is read, long before it runs.

Run it: python examples/trees/t04_a_leaf_of_your_own.py
"""

import asyncio

from endstop.errors import TreeError
from endstop.tree import KeyType, LeafContext, Leaves, Tree, TreeSpec, checked, read_tree

leaves = Leaves()


# A key that a leaf writes need not be declared by the tree. It holds nothing (nil) until it is written.
@leaves.action("shop.weigh", writes={"grams": KeyType.INTEGER})
async def weigh(leaf: LeafContext, *, what: str) -> None:
    """Weigh something. A coroutine function, for it takes a moment."""
    await asyncio.sleep(0)
    assert leaf.blackboard is not None
    leaf.blackboard.set("grams", 40 * len(what))


@leaves.condition("shop.fits")
def fits(leaf: LeafContext, *, grams: int, most: int = 250) -> bool:
    """Whether the bag can take it. A condition must not take time: a coroutine function is refused."""
    return grams <= most


@leaves.action("shop.pack")
def pack(leaf: LeafContext, *, what: str) -> bool:
    """Pack it. True or nothing is success, False is failure; so is an exception, which is kept."""
    if what == "eggs":
        raise ValueError("they break")
    return True


# Lua has functions and loops: the tree they build is plain data.
SHOPPING = """
local all = {}
for _, thing in ipairs({ "pumpkin", "eggs", "salt" }) do
    all[#all + 1] = BT.sequence(thing, {
        BT.action("shop.weigh", { args = { what = thing } }),
        BT.condition("shop.fits", { args = { grams = "$grams" } }),
        BT.action("shop.pack", { args = { what = thing } }),
    })
end
return BT.tree("shopping", { root = BT.selector("the first that fits", all) })
"""
MISSPELT = SHOPPING.replace("shop.pack", "shop.park").replace("grams =", "gram =")


def tree_of(lua: str) -> TreeSpec:
    return checked(read_tree(lua, file="shopping.lua"), leaves=leaves)


tree = Tree(tree_of(SHOPPING), leaves=leaves)
print(asyncio.run(tree.run()).value)
print("   grams:", tree.blackboard.get("grams"))
print("   went wrong:", dict(tree.errors))

try:
    tree_of(MISSPELT)
except TreeError as error:
    print(error)
