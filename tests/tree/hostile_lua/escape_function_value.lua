-- Tries to hand a function out.
return BT.tree("hostile", { root = BT.action("a.b", { args = { call = function() end } }) })
