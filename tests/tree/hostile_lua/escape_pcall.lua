-- Tries to go on after it was stopped.
while true do
    pcall(function() while true do end end)
end
return BT.tree("hostile", { root = BT.action("a.b") })
