-- Tries to run for ever inside the arguments of a node.
return BT.tree("hostile", { root = BT.sequence{ (function() while true do end end)() } })
