-- Tries to have BT go through a large table with each node.
local wide = {}
for i = 1, 8000 do
    wide[-i] = true
end
while true do
    BT.sequence(wide)
end
