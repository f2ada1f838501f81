-- Tries to replace with a pattern.
("x"):gsub(".-.-.-b", "")
return BT.tree("hostile", { root = BT.action("a.b") })
