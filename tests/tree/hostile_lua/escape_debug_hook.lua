-- Tries to take the hook away.
debug.sethook()
while true do end
return BT.tree("hostile", { root = BT.action("a.b") })
