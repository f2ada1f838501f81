-- Tries to sort a table for ever.
local t = {}
for i = 1, 2000 do
    t["k" .. i] = true
end
while true do
    for k in pairs(t) do end
end
