-- Tries to hand out a table that is nested too deep.
local t = {}
for _ = 1, 30 do
    t = { inner = t }
end
return BT.tree("hostile", { root = BT.action("a.b", { args = t }) })
