-- Tries to have a long text written down many times.
local x = ("x"):rep(9999)
local list = {}
for i = 1, 10000 do
    list[i] = x
end
return BT.tree("hostile", { root = BT.action("a.b", { args = list }) })
