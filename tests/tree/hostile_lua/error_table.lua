-- Tries to end with a table as its error.
error({ 1, 2, 3 })
