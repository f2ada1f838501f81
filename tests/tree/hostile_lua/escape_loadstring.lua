-- Tries to compile text by the old name.
loadstring("return 1")()
return BT.tree("hostile", { root = BT.action("a.b") })
