-- Tries to find the real globals behind its own.
local _ENV = _ENV._G
os.exit(1)
return BT.tree("hostile", { root = BT.action("a.b") })
