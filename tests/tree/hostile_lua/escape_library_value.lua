-- Tries to hand a table of functions out.
return BT.tree("hostile", { root = BT.action("a.b", { args = { all = _ENV } }) })
