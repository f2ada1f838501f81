-- Tries to move more entries than there are.
table.move({}, 1, 2 ^ 53, 2)
return BT.tree("hostile", { root = BT.action("a.b") })
