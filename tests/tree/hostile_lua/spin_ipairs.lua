-- Tries to go through a list that grows as it goes.
local list = { 1 }
for i in ipairs(list) do
    list[i + 1] = true
    list[i - 1] = nil
end
