-- Tries to fill a list until the memory is full.
local list = {}
while true do
    list[#list + 1] = {}
end
