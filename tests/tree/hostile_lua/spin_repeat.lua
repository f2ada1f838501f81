-- Tries to run for ever with repeat.
repeat until false
