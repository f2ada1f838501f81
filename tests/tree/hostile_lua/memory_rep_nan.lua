-- Tries to make a text of no number of characters.
local x = ("x"):rep(0 / 0)
