-- Tries to end with a long error.
local x = "x"
for _ = 1, 18 do
    x = x .. x
end
error(x)
