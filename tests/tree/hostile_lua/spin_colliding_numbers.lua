-- Tries to fill a table with numbers that all fall into one place.
local t, step = {}, 2 ^ 17 // 1 | 0
step = step - 1
for i = 1, 1000000 do
    t[i * step] = true
end
