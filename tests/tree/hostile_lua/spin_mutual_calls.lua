-- Tries to call in a circle for ever.
local one, other
function one() return other() end
function other() return one() end
one()
