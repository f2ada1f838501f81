-- Tries to count to the largest number.
for i = 1, math.maxinteger do end
