-- Tries to join a range without end.
table.concat({}, "", 1, math.maxinteger)
