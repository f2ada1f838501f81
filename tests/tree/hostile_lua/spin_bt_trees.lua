-- Tries to make trees for ever.
while true do
    BT.tree("hostile", { root = nil })
end
