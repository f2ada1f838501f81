"""What the agents of several examples do."""

from __future__ import annotations

from endstop.testing.replies import ScriptedReply, calls, calls_many

CODE = "timesheet.py"
TESTS = "test_timesheet.py"

READS_ALL = calls_many(
    calls("read_file", path=CODE), calls("read_file", path=TESTS), text="First I read the code and its tests."
)
RUNS_TESTS = calls_many(calls("run_tests"), text="Now the tests.")


def edits(path: str, old: str, new: str) -> ScriptedReply:
    """One piece of a file becomes another. It must not be in there any more then: so an edit that is made
    again, because nobody knows whether it had its effect, is refused and does no harm."""
    return calls("edit_file", path=path, old=old, new=new)
