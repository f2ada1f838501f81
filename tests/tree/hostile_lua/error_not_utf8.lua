-- Tries to end with an error that is no text.
error("\255\254\253")
