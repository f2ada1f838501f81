-- Tries to reach Python.
python.eval("1")
return BT.tree("hostile", { root = BT.action("a.b") })
