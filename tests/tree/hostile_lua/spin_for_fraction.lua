-- Tries to count in steps that are too small to count.
for i = 1, 2, 1e-300 do end
