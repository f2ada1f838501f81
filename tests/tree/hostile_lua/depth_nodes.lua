-- Tries to nest nodes too deep.
local node = BT.action("a.b")
for _ = 1, 100 do
    node = BT.inverter{ node }
end
return BT.tree("hostile", { root = node })
