-- Tries to fill the stack with arguments.
local function more(...)
    return 1 + more(1, ...)
end
more()
