-- Tries to change a node after it was judged.
local node = BT.action("a.b")
node.fn = "os.execute"
return BT.tree("hostile", { root = BT.sequence{ node } })
