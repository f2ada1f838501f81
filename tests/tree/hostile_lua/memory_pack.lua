-- Tries to fill the memory with packed arguments.
local list = {}
while true do
    list = table.pack(list, list)
    list[3] = table.pack(list, list, list)
end
