-- Tries to double a text until the memory is full.
local x = "x"
while true do
    x = x .. x
end
