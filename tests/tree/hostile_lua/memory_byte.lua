-- Tries to fill the stack with the bytes of a text.
local x = ("x"):rep(9000)
for _ = 1, 5 do
    x = x .. x
end
while true do
    local all = { x:byte(1, -1) }
end
