-- Tries to join with long text between.
local list, x = {}, ("x"):rep(9000)
for i = 1, 10000 do
    list[i] = ""
end
local all = table.concat(list, x)
