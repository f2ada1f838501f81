-- Tries to compare long texts of nothing but zeros, for ever.
local one = ("\0"):rep(9000)
for _ = 1, 3 do
    one = one .. one
end
local other = one .. ""
one, other = one .. "a", other .. "b"
while true do
    local before = one < other
end
