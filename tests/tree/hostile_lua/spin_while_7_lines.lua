-- Tries to run for ever in a loop of 7 lines.
local i = 0
while true do
    i = i + 1
    i = i + 1
    i = i + 1
    i = i + 1
    i = i + 1
    i = i + 1
    i = i + 1
end
