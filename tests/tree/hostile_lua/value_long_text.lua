-- Tries to hand out a text that is too long.
local x = ("x"):rep(6000)
return BT.tree("hostile", { root = BT.action("a.b", { args = { x = x .. x } }) })
