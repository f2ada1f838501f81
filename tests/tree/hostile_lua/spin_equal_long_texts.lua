-- Tries to compare long texts that are the same, for ever.
local one = ("x"):rep(9000)
for _ = 1, 3 do
    one = one .. one
end
local a, b = one .. "a", one .. "a"
while true do
    local same = a == b
end
