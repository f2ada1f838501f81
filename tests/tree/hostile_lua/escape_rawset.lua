-- Tries to write past a metatable.
rawset(BT, "tree", nil)
return BT.tree("hostile", { root = BT.action("a.b") })
