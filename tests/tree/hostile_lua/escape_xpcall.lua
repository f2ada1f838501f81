-- Tries to go on in a handler after it was stopped.
xpcall(function() while true do end end, function() while true do end end)
return BT.tree("hostile", { root = BT.action("a.b") })
