-- Tries to make a long text of what stands between.
local x = (""):rep(1e9, "xxxx")
