-- Tries to reach the registry.
local registry = debug.getregistry()
return BT.tree("hostile", { root = BT.action("a.b") })
