-- Tries to fill the memory with functions.
local list = {}
while true do
    list[#list + 1] = function() return list end
end
