-- Tries to run another file.
dofile("/etc/passwd")
return BT.tree("hostile", { root = BT.action("a.b") })
