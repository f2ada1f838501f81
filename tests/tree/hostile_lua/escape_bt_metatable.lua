-- Tries to look behind BT.
BT.__index = nil
BT.__metatable.x = 1
return BT.tree("hostile", { root = BT.action("a.b") })
