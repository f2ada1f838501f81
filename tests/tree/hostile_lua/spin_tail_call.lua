-- Tries to call itself for ever without a stack.
local function again()
    return again()
end
again()
