-- Tries to change long texts for ever.
local one = ("x"):rep(9000)
for _ = 1, 3 do
    one = one .. one
end
while true do
    one:upper():lower():reverse()
end
