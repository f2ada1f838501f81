-- Tries to reach Python through its builtins.
python.builtins.open("/etc/passwd")
return BT.tree("hostile", { root = BT.action("a.b") })
