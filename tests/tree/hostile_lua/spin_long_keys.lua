-- Tries to look up long texts for ever.
local one, t = ("x"):rep(9000), {}
for _ = 1, 3 do
    one = one .. one
end
while true do
    local found = t[one .. "a"]
end
