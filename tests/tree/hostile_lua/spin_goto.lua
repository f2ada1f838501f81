-- Tries to run for ever with goto.
::again::
goto again
