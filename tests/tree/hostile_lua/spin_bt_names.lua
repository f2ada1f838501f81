-- Tries to ask BT for ever new names.
local i = 0
while true do
    i = i + 1
    local f = BT["kind" .. i]
end
