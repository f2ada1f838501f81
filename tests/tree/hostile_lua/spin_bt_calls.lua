-- Tries to make nodes for ever and keep none.
while true do
    BT.action("a.b")
end
