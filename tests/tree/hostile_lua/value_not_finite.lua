-- Tries to hand out what is not a number.
return BT.tree("hostile", { root = BT.action("a.b", { args = { x = 0 / 0, y = math.huge } }) })
