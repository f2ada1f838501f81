-- Tries to make a long text with a width.
string.format("%99999999s", "x")
return BT.tree("hostile", { root = BT.action("a.b") })
