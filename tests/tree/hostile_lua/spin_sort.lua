-- Tries to sort with an order that is none.
table.sort({ 3, 1, 2 }, function() return true end)
return BT.tree("hostile", { root = BT.action("a.b") })
