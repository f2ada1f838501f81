-- Tries to load a module.
local socket = require("os")
return BT.tree("hostile", { root = BT.action("a.b") })
