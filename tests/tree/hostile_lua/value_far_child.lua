-- Tries to put a child at a place far out.
return BT.tree("hostile", { root = BT.sequence{ [math.maxinteger] = BT.action("a.b") } })
