-- Tries to make a text of infinitely many characters.
local x = ("x"):rep(math.huge)
