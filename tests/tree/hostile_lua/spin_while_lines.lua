-- Tries to run for ever in a loop whose length fits that of the hook.
while true do
    local a = 1
end
