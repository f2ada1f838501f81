-- Tries to have text written down that grows when it is escaped.
local x = ("\0"):rep(9999)
local list = {}
for i = 1, 10000 do
    list[i] = x
end
return BT.tree("hostile", { root = BT.action("a.b", { args = list }) })
