-- Tries to use a text as something that can be closed.
do
    local kept <close> = "text"
end
return BT.tree("hostile", { root = BT.action("a.b") })
