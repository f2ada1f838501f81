-- Tries to match a pattern that takes for ever.
string.find(("a"):rep(9000), ("a-"):rep(200) .. "b")
return BT.tree("hostile", { root = BT.action("a.b") })
