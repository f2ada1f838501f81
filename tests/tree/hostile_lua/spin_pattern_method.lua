-- Tries to match a pattern by way of a text.
("x"):find(("a-"):rep(200) .. "b")
return BT.tree("hostile", { root = BT.action("a.b") })
