-- Tries to reach the functions of all texts.
getmetatable("").__index = function() end
return BT.tree("hostile", { root = BT.action("a.b") })
