-- Tries to unpack a range without end.
table.unpack({}, 1, math.maxinteger)
