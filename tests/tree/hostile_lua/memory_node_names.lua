-- Tries to keep many long names.
local i = 0
local x = ("x"):rep(9000)
local all = {}
while true do
    i = i + 1
    all[i] = BT.action("a.b" .. i, { args = { x, x, x, x, x, x, x, x, x, x } })
end
