-- Tries to run when a variable goes out of scope.
do
    local kept <close> = {}
end
return BT.tree("hostile", { root = BT.action("a.b") })
