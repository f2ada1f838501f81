-- Tries to fill the stack.
local function deeper()
    return 1 + deeper()
end
deeper()
