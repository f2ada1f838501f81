-- Tries to run when the runtime is thrown away.
setmetatable({}, { __gc = function() while true do end end })
return BT.tree("hostile", { root = BT.action("a.b") })
