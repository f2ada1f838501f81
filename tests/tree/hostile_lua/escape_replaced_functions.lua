-- Tries to put its own functions in the place of ours.
string.sub = function() return "evil" end
table.concat = function() return "evil" end
type = function() return "string" end
error = function() end
tostring = nil
BT.tree = function() return "evil" end
return BT.tree("hostile", { root = BT.action("a.b") })
