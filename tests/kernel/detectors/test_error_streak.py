"""Tool errors in a row (B2)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endstop.kernel.detectors import ErrorStreak
from endstop.kernel.finding import Pattern
from endstop.kernel.observation import CallStatus
from endstop.kernel.thresholds import Thresholds
from endstop.testing import ObservationScript, ScriptedCall, call, watch

OK = CallStatus.EXECUTED
ERROR = CallStatus.FAILED


def calls(*statuses: CallStatus) -> ObservationScript:
    script = ObservationScript()
    for number, status in enumerate(statuses):
        script.turn(call(f"tool_{number}", {"n": number}, status=status, result=f"said {number}"))
    return script


def times(script: ObservationScript, threshold: int = 3) -> list[int]:
    _, findings = watch(ErrorStreak(thresholds=Thresholds(errors_in_a_row=threshold)), script)
    return [finding.times for finding in findings]


@pytest.mark.guarantee("B2", "B8")
def test_a_finding_shows_each_failed_call_with_what_it_said() -> None:
    _, (finding,) = watch(ErrorStreak(), calls(OK, ERROR, CallStatus.TIMED_OUT, CallStatus.REFUSED))
    assert finding.pattern is Pattern.ERROR_STREAK
    assert finding.message == "3 tool calls in a row ended in an error (turns 2, 3 and 4)"
    assert finding.advice.startswith("Read the errors")
    assert [each.what for each in finding.evidence] == [
        'tool_1({"n":1}): said 1',
        'tool_2({"n":2}): said 2',
        'tool_3({"n":3}): said 3',
    ]
    assert finding.evidence[0].call == "call-1-0"


@pytest.mark.guarantee("B2", "B11")
@pytest.mark.parametrize(
    ("threshold", "errors", "expected"),
    [(3, 2, []), (3, 3, [3]), (3, 4, [3]), (3, 6, [3, 6]), (4, 3, []), (4, 4, [4])],
)
def test_the_threshold_is_exact(threshold: int, errors: int, expected: list[int]) -> None:
    assert times(calls(*[ERROR] * errors), threshold) == expected


@pytest.mark.guarantee("B2")
@pytest.mark.parametrize("status", [CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.REFUSED])
def test_failing_to_do_the_job_is_an_error(status: CallStatus) -> None:
    assert times(calls(ERROR, ERROR, status)) == [3]


@pytest.mark.guarantee("B2")
def test_a_command_that_ran_and_exited_non_zero_is_a_result() -> None:
    script = ObservationScript()
    for _ in range(5):
        script.turn(call("shell", {"command": "make"}, result="exit status 2"))
    assert times(script) == []


@pytest.mark.guarantee("B2")
def test_any_success_ends_the_row() -> None:
    assert times(calls(ERROR, ERROR, OK, ERROR, ERROR)) == []


@pytest.mark.guarantee("B2")
@pytest.mark.parametrize(
    "status", [CallStatus.SKIPPED, CallStatus.TRIPPED, CallStatus.CANCELLED, CallStatus.INTERRUPTED]
)
def test_calls_that_were_never_judged_neither_lengthen_nor_end_the_row(status: CallStatus) -> None:
    assert times(calls(status, status, status, status)) == []
    assert times(calls(ERROR, ERROR, status)) == []
    assert times(calls(ERROR, ERROR, status, ERROR)) == [3]


def waiting(*, ok: bool) -> ScriptedCall:
    return call("job", ok=ok, waiting=True)


@pytest.mark.guarantee("B2", "B9")
def test_a_tool_that_waits_is_neither_an_error_nor_a_success() -> None:
    assert times(ObservationScript().turn(*[waiting(ok=False)] * 5)) == []
    failing = call("x", ok=False)
    assert times(
        ObservationScript().turn(failing, failing, waiting(ok=True), waiting(ok=False), failing)
    ) == [3]


@pytest.mark.guarantee("B2")
def test_neither_text_nor_the_user_ends_the_row() -> None:
    script = ObservationScript().turn(call("x", ok=False)).turn(text="Hm.").user().turn(call("y", ok=False))
    assert times(script.turn(call("z", ok=False))) == [3]


def test_what_does_not_concern_it_leaves_the_detector_as_it_is() -> None:
    detector = ErrorStreak()
    for observation in ObservationScript().user().turn(text="Hello."):
        assert detector.observe(observation)[0] is detector


@pytest.mark.guarantee("B2")
@settings(deadline=None)
@given(st.lists(st.sampled_from(CallStatus), max_size=50))
def test_it_agrees_with_a_look_at_the_whole_history(statuses: list[CallStatus]) -> None:
    expected, row = list[int](), 0
    for status in statuses:
        if status is OK:
            row = 0
        elif status in {CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.REFUSED}:
            row += 1
            expected += [row] if row % 3 == 0 else []
    assert times(calls(*statuses)) == expected
