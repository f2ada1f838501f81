-- Tries to find the real globals.
_G.os.exit(1)
return BT.tree("hostile", { root = BT.action("a.b") })
