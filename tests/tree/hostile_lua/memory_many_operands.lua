-- Tries to join a text many times over at once.
local x = ("x"):rep(9000)
while true do
    x = x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x .. x
end
