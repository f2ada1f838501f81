-- Tries to fill the memory with globals.
local i = 0
while true do
    i = i + 1
    _ENV["g" .. i] = i
end
