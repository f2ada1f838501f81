-- Tries to join many long texts.
local list, x = {}, ("x"):rep(9000)
for i = 1, 10000 do
    list[i] = x
end
local all = table.concat(list)
