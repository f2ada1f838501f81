-- Tries to unpack a range whose length wraps around.
table.unpack({}, math.mininteger, math.maxinteger)
