-- Tries to switch the collector off.
collectgarbage("stop")
return BT.tree("hostile", { root = BT.action("a.b") })
