-- Tries to read long numbers for ever.
local one = ("9"):rep(9000)
for _ = 1, 3 do
    one = one .. one
end
while true do
    tonumber(one)
end
