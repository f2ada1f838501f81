-- Tries to make 2^50 nodes out of few.
local node = BT.action("a.b")
for _ = 1, 50 do
    node = BT.sequence{ node, node }
end
return BT.tree("hostile", { root = node })
