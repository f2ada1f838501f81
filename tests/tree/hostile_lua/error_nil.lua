-- Tries to end with nothing as its error.
error()
