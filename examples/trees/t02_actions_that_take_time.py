"""Actions that take time, and what stands above them: a guard and a timeout, which can halt them.

A tick never waits. An action that takes time is a coroutine function: it is started beside the tree, and the
node reports running. Each tick looks at the guards above it again.

Run it: python examples/trees/t02_actions_that_take_time.py
"""

import asyncio
from types import SimpleNamespace
from typing import cast

from endstop.tree import LeafContext, Leaves, Services, Tree, checked, read_tree

BATH = """
return BT.tree("bath", {
    blackboard = { is_wanted = { type = "boolean", default = true } },
    root = BT.guard("while it is wanted", { expression = "is_wanted",
        BT.timeout("10 s at most", { seconds = 10, BT.action("tap.fill") }),
    }),
})
"""

leaves = Leaves()
is_full = asyncio.Event()


@leaves.action("tap.fill")
async def fill(leaf: LeafContext) -> None:
    """Fill the bath. Halting cancels the coroutine where it waits, so what it opened it can close."""
    print("   the tap is open")
    try:
        await is_full.wait()
    finally:
        print("   the tap is closed")


clock = SimpleNamespace(now_s=0.0)  # a clock that obeys, so that nobody has to wait for the timeout
spec = checked(read_tree(BATH, file="bath.lua"), leaves=leaves)


async def main() -> None:
    tree = Tree(spec, leaves=leaves, services=cast("Services", clock))

    print("left alone")
    print(f"   {tree.tick().value}: {' > '.join(tree.running_path)}")
    asyncio.get_running_loop().call_soon(is_full.set)
    await tree.wait()  # asleep until something happens: here, the action ends
    print(f"   {tree.tick().value}")
    is_full.clear()

    print("no longer wanted")
    tree.tick()
    await asyncio.sleep(0)  # the tap is opened
    tree.blackboard.set("is_wanted", False)
    print(f"   {tree.tick().value}")  # the guard fails, and halts what is below it
    await asyncio.sleep(0)
    tree.blackboard.set("is_wanted", True)

    print("too slow")
    tree.tick()
    await asyncio.sleep(0)
    clock.now_s += 11
    print(f"   {tree.tick().value}")
    await tree.close()  # whatever was begun is seen to its end


asyncio.run(main())
