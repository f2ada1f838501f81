-- Tries to end with a function as its error.
error(function() while true do end end)
