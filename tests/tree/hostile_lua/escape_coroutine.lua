-- Tries to run where the hook is not set.
coroutine.wrap(function() while true do end end)()
return BT.tree("hostile", { root = BT.action("a.b") })
