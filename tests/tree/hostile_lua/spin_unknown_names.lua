-- Tries to read names that are not there for ever.
while true do
    local x = nothing_there
end
