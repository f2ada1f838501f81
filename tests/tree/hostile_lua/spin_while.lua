-- Tries to run for ever.
while true do end
