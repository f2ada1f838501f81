-- Tries to hand out a table that holds itself.
local t = {}
t.self = t
return BT.tree("hostile", { root = BT.action("a.b", { args = t }) })
