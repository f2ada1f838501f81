-- Tries to reach a function through a text that is not offered.
local f = ("x").dump
f(function() end)
return BT.tree("hostile", { root = BT.action("a.b") })
