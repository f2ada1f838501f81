-- Tries to keep problems without end.
while true do
    BT.sequence({ [true] = 1 })
end
