-- Tries to ask for the first entry for ever.
local t = {}
for i = 1, 2000 do
    t["k" .. i] = true
end
while true do
    next(t)
end
