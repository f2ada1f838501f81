-- Tries to see the code of a function.
string.dump(function() end)
return BT.tree("hostile", { root = BT.action("a.b") })
