-- Tries to make a text of a thousand million characters.
local x = ("x"):rep(1e9)
