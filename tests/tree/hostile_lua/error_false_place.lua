-- Tries to end with an error that claims to be somewhere else.
error("tree:99999999999999999999: not here", 0)
