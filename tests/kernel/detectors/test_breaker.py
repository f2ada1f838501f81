"""A call that keeps failing the same way is not executed again (B5)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endstop.kernel.canonical import action_key
from endstop.kernel.detectors import CircuitBreaker
from endstop.kernel.finding import Pattern
from endstop.kernel.observation import CallStatus
from endstop.kernel.thresholds import Thresholds
from endstop.testing import ObservationScript, ScriptedCall, call, watch

URL = {"url": "http://h.test/"}


def failing(result: str = "refused", arguments: object = None) -> ScriptedCall:
    return call("fetch", URL if arguments is None else arguments, ok=False, result=result)


def run(*calls: ScriptedCall, threshold: int = 3) -> tuple[CircuitBreaker, list[int]]:
    script = ObservationScript()
    for each in calls:
        script.turn(each)
    breaker, findings = watch(CircuitBreaker(thresholds=Thresholds(failures_to_trip=threshold)), script)
    return breaker, [finding.times for finding in findings]


def is_tripped(*calls: ScriptedCall) -> bool:
    return run(*calls)[0].is_tripped("fetch", action_key("fetch", URL))


@pytest.mark.guarantee("B5", "B8")
def test_a_finding_says_what_failed_and_how() -> None:
    script = ObservationScript()
    for minute in (1, 2, 3):
        script.turn(failing(f"12:0{minute}:00 refused"))
    _, (finding,) = watch(CircuitBreaker(), script)
    assert finding.pattern is Pattern.FAILING_CALL
    assert finding.message == (
        "fetch failed 3 times with the same arguments and the same error (turns 1, 2 and 3): 12:03:00 refused"
    )
    assert (
        finding.advice == "It is not executed again with these arguments: change them, or try something else."
    )
    assert finding.evidence[0].what == 'fetch({"url":"http://h.test/"}): 12:01:00 refused'


@pytest.mark.guarantee("B5", "B11")
@pytest.mark.parametrize(
    ("threshold", "failures", "found", "tripped"),
    [
        (3, 2, [], False),
        (3, 3, [3], True),
        (3, 4, [3], True),
        (3, 6, [3, 6], True),
        (2, 2, [2], True),
        (4, 3, [], False),
    ],
)
def test_it_trips_exactly_at_the_threshold(
    threshold: int, failures: int, found: list[int], tripped: bool
) -> None:
    breaker, times = run(*[failing()] * failures, threshold=threshold)
    assert times == found
    assert breaker.is_tripped("fetch", action_key("fetch", URL)) is tripped


@pytest.mark.guarantee("B5")
def test_failures_count_though_other_calls_lie_between() -> None:
    other = call("read", {"page": 1})
    assert is_tripped(failing(), other, failing(), other, failing())


@pytest.mark.guarantee("B5")
@pytest.mark.parametrize("status", [CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.REFUSED])
def test_every_way_of_failing_counts(status: CallStatus) -> None:
    assert is_tripped(*[call("fetch", URL, status=status, result="no")] * 3)


@pytest.mark.guarantee("B5", "B9")
def test_what_is_no_failure_does_not_count() -> None:
    for status in (CallStatus.SKIPPED, CallStatus.TRIPPED, CallStatus.CANCELLED, CallStatus.INTERRUPTED):
        assert not is_tripped(failing(), failing(), call("fetch", URL, status=status, result="refused"))
    assert not is_tripped(*[call("fetch", URL, ok=False, waiting=True, result="not yet")] * 5)


@pytest.mark.guarantee("B5")
def test_other_arguments_or_another_error_are_counted_apart() -> None:
    assert not is_tripped(failing(), failing("time-out"), failing("no such host"), failing())
    assert not is_tripped(*[failing(arguments={"url": str(number)}) for number in range(9)])
    breaker, _ = run(failing(), failing(), failing())
    assert not breaker.is_tripped("fetch", action_key("fetch", {"url": "elsewhere"}))
    assert not breaker.is_tripped("other", action_key("fetch", URL))


@pytest.mark.guarantee("B5")
def test_a_success_of_the_tool_resets_it() -> None:
    works = call("fetch", {"url": "elsewhere"}, result="200")
    assert not is_tripped(failing(), failing(), works, failing(), failing())
    assert not is_tripped(failing(), failing(), failing(), works)


@pytest.mark.guarantee("B5")
def test_a_success_of_a_tool_that_changes_something_resets_everything() -> None:
    edit = call("edit", {"line": 1}, changes=True)
    assert not is_tripped(failing(), failing(), failing(), edit)
    assert is_tripped(failing(), failing(), call("edit", ok=False, changes=True), failing())
    assert is_tripped(failing(), failing(), call("edit", waiting=True, changes=True), failing())


@pytest.mark.guarantee("B5")
def test_a_success_of_another_tool_that_changes_nothing_resets_nothing() -> None:
    assert is_tripped(failing(), failing(), call("read"), failing(), call("read"))


def test_the_table_is_bounded_and_forgets_the_least_recent() -> None:
    others = [failing(arguments={"url": str(number)}) for number in range(63)]
    breaker, _ = run(failing(), failing(), failing(), *others)
    assert len(breaker.failures) == 64
    assert breaker.is_tripped("fetch", action_key("fetch", URL))
    breaker, _ = run(failing(), failing(), failing(), *others, failing(arguments={"url": "one more"}))
    assert len(breaker.failures) == 64
    assert not breaker.is_tripped("fetch", action_key("fetch", URL))


def test_a_blank_around_the_name_of_the_tool_does_not_count() -> None:
    assert is_tripped(failing(), call(" fetch", URL, ok=False, result="refused"), failing())


def test_what_does_not_concern_it_leaves_the_breaker_as_it_is() -> None:
    breaker = CircuitBreaker()
    for observation in ObservationScript().user().turn(text="Hello."):
        assert breaker.observe(observation)[0] is breaker


STEPS = {
    "a": call("fetch", URL, ok=False, result="refused"),
    "b": call("fetch", URL, ok=False, result="time-out"),
    "c": call("other", ok=False, result="refused"),
    "s": call("fetch", {"url": "elsewhere"}),
    "e": call("edit", changes=True),
    "r": call("read"),
}


@pytest.mark.guarantee("B5")
@settings(deadline=None)
@given(st.text("abcser", max_size=40))
def test_it_agrees_with_a_look_at_the_whole_history(letters: str) -> None:
    since_reset = letters[letters.rfind("e") + 1 :]
    fetches = since_reset[since_reset.rfind("s") + 1 :]
    expected = fetches.count("a") >= 3 or fetches.count("b") >= 3
    assert is_tripped(*[STEPS[letter] for letter in letters]) is expected
