-- Tries to make 2^19 values out of few.
local value = { "x" }
for _ = 1, 18 do
    value = { value, value }
end
return BT.tree("hostile", { root = BT.action("a.b", { args = { value = value } }) })
