"""A first tree: written in Lua, checked, drawn as text, and ticked by hand.

A tree is ticked from its root. Each node answers success, failure or running. A sequence ticks its nodes
until one fails, a selector until one succeeds: so a selector reads "try this, or else that".

Run it: python examples/trees/t01_first_tree.py
"""

from endstop.tree import LeafContext, Leaves, Tree, checked, draw_text, read_tree

# The Lua runs once, builds the tree, and is gone. An expression may only look at keys of the blackboard.
GREETER = """
return BT.tree("greeter", {
    blackboard = { hour = { type = "integer", default = 8 }, is_asleep = "boolean" },
    root = BT.selector("greet somebody", {
        BT.condition("is_asleep"),
        BT.sequence("morning", {
            BT.condition("hour >= 5 and hour < 12"),
            BT.action("say.words", { args = { words = "Good morning!" } }),
        }),
        BT.action("say.words", { args = { words = "Hello." } }),
    }),
})
"""

leaves = Leaves()


@leaves.action("say.words")
def say(leaf: LeafContext, *, words: str) -> None:
    """Say something. An action that returns nothing has succeeded."""
    print(f"   the tree says: {words}")


# Checked: every name in it exists, every key is declared, every loop is bounded. Nothing has run yet.
spec = checked(read_tree(GREETER, file="greeter.lua"), leaves=leaves)
print(draw_text(spec))

# Ticked by hand. A tree that steers an agent is ticked for you.
tree = Tree(spec, leaves=leaves)
for hour, is_asleep in ((8, False), (15, False), (8, True)):
    tree.blackboard.set("hour", hour)
    tree.blackboard.set("is_asleep", is_asleep)
    print(f"hour {hour}, asleep {is_asleep}")
    status = tree.tick()
    print(f"   {status.value}")
