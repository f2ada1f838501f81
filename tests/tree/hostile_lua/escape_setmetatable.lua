-- Tries to give a table a metatable.
local t = setmetatable({}, { __index = function(t, k) return t[k] end })
local x = t.x
return BT.tree("hostile", { root = BT.action("a.b") })
