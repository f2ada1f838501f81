-- Tries to compile text of its own.
load("return 1")()
return BT.tree("hostile", { root = BT.action("a.b") })
