-- Tries the same with a table that is as large as the memory allows.
local count = 16384
local t, step = {}, count - 1
for i = 1, count do
    t[(count + i) * step] = true
end
local next_one = 3 * count
while true do
    t[(next_one - 2 * count + 1) * step] = nil
    t[next_one * step] = true
    next_one = next_one + 1
end
