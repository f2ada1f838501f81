-- Tries to run a command.
os.execute("true")
return BT.tree("hostile", { root = BT.action("a.b") })
