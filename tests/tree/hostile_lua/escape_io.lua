-- Tries to read a file.
local file = io.open("/etc/passwd")
return BT.tree("hostile", { root = BT.action("a.b") })
