-- Tries to make BT give something for a number.
BT[1]("x")
return BT.tree("hostile", { root = BT.action("a.b") })
