"""The same tool with the same arguments, again and again (B1)."""

from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endstop.kernel.detectors import RepeatedCalls
from endstop.kernel.finding import Evidence, Pattern
from endstop.kernel.observation import CallStatus
from endstop.kernel.thresholds import Thresholds
from endstop.testing import ObservationScript, ScriptedCall, call, watch


def same(times: int) -> list[ScriptedCall]:
    return [call("search_docs", {"query": "login"}, result="2 hits") for _ in range(times)]


def in_turns_of_one(*calls: ScriptedCall) -> ObservationScript:
    script = ObservationScript()
    for each in calls:
        script.turn(each)
    return script


def patterns(script: ObservationScript, thresholds: Thresholds | None = None) -> list[Pattern]:
    _, findings = watch(RepeatedCalls(thresholds=thresholds or Thresholds()), script)
    return [finding.pattern for finding in findings]


@pytest.mark.guarantee("B1", "B8")
def test_a_finding_says_what_where_and_what_to_do() -> None:
    script = ObservationScript().turn(call("list_dir"))
    for each in same(3):
        script.turn(each)
    _, (finding,) = watch(RepeatedCalls(), script)
    assert finding.pattern is Pattern.IDENTICAL_CALL
    assert (
        finding.message
        == "search_docs was called 3 times in a row with the same arguments (turns 2, 3 and 4)"
    )
    assert (
        finding.advice == "Use the result that is already there, change the arguments, or take another tool."
    )
    assert finding.times == 3
    what = 'search_docs({"query":"login"})'
    assert finding.evidence == tuple(
        Evidence(turn=turn, call=f"call-{turn}-0", what=what) for turn in (1, 2, 3)
    )


@pytest.mark.guarantee("B1", "B11")
@pytest.mark.parametrize(
    ("threshold", "times", "found"), [(3, 2, 0), (3, 3, 1), (3, 4, 1), (5, 4, 0), (5, 5, 1), (2, 2, 1)]
)
def test_the_threshold_is_exact(threshold: int, times: int, found: int) -> None:
    script = in_turns_of_one(*same(times))
    assert len(patterns(script, Thresholds(identical_calls=threshold))) == found


@pytest.mark.guarantee("B1")
def test_a_row_that_goes_on_is_reported_again_at_each_multiple() -> None:
    _, findings = watch(RepeatedCalls(), in_turns_of_one(*same(10)))
    assert [finding.times for finding in findings] == [3, 6, 9]


@pytest.mark.guarantee("B1")
def test_repeats_inside_one_turn_count() -> None:
    assert patterns(ObservationScript().turn(*same(3))) == [Pattern.IDENTICAL_CALL]


@pytest.mark.guarantee("B1")
def test_text_between_the_calls_does_not_count() -> None:
    script = ObservationScript()
    for number, each in enumerate(same(3)):
        script.turn(each, text=f"Thought {number}").turn(text="Only text.")
    assert patterns(script) == [Pattern.IDENTICAL_CALL]


@pytest.mark.guarantee("B1")
def test_another_call_between_begins_a_new_row() -> None:
    script = in_turns_of_one(*same(2), call("search_docs", {"query": "logout"}), *same(2))
    assert patterns(script) == []


@pytest.mark.guarantee("B1")
def test_a_message_of_the_user_begins_a_new_row() -> None:
    script = in_turns_of_one(*same(2)).user().turn(*same(2))
    assert patterns(script) == []
    assert patterns(script.turn(*same(1))) == [Pattern.IDENTICAL_CALL]


@pytest.mark.guarantee("B1", "B9")
def test_declared_waiting_counts_nowhere_and_begins_a_new_row() -> None:
    waiting = call("search_docs", {"query": "login"}, waiting=True)
    assert patterns(in_turns_of_one(*[waiting] * 20)) == []
    assert patterns(in_turns_of_one(*same(2), waiting, *same(2))) == []
    assert patterns(in_turns_of_one(*same(2), waiting, *same(3))) == [Pattern.IDENTICAL_CALL]


@pytest.mark.guarantee("B1")
@pytest.mark.parametrize("status", CallStatus)
def test_a_call_counts_however_it_was_answered(status: CallStatus) -> None:
    script = in_turns_of_one(*same(2), call("search_docs", {"query": "login"}, status=status))
    assert patterns(script) == [Pattern.IDENTICAL_CALL]


def page(result: str, arguments: object = None, status: CallStatus | None = None) -> ScriptedCall:
    return call("next_page", arguments, result=result, cursor=True, status=status)


@pytest.mark.guarantee("B1")
def test_a_cursor_may_be_repeated_as_long_as_its_pages_are_new() -> None:
    assert patterns(in_turns_of_one(*[page(f"page {number}") for number in range(20)])) == []


@pytest.mark.guarantee("B1", "B8", "B11")
@pytest.mark.parametrize(
    ("threshold", "times", "found"), [(3, 2, 0), (3, 3, 1), (3, 4, 1), (4, 3, 0), (4, 4, 1)]
)
def test_a_cursor_that_brings_the_same_page_is_found(threshold: int, times: int, found: int) -> None:
    script = in_turns_of_one(*[page("the end", {"token": number}) for number in range(times)])
    _, findings = watch(RepeatedCalls(thresholds=Thresholds(identical_results=threshold)), script)
    assert [finding.pattern for finding in findings] == [Pattern.IDENTICAL_RESULT] * found
    for finding in findings:
        assert finding.message.startswith(
            f"next_page brought the same result {threshold} times in a row (turns 1"
        )
        assert "nothing more to fetch" in finding.advice


@pytest.mark.guarantee("B1")
def test_the_same_page_from_another_cursor_is_another_row() -> None:
    other = call("next_row", result="the end", cursor=True)
    assert patterns(in_turns_of_one(page("the end"), other, page("the end"), other)) == []


@pytest.mark.guarantee("B1")
@pytest.mark.parametrize("status", [CallStatus.SKIPPED, CallStatus.CANCELLED, CallStatus.INTERRUPTED])
def test_a_cursor_call_that_was_not_run_brought_no_page_and_is_passed_over(status: CallStatus) -> None:
    not_run = page("not run: too many calls", status=status)
    assert patterns(in_turns_of_one(*[not_run] * 5)) == []
    assert patterns(in_turns_of_one(page("end"), page("end"), not_run, page("end"))) == [
        Pattern.IDENTICAL_RESULT
    ]


@pytest.mark.guarantee("B1")
def test_a_cursor_that_fails_the_same_way_but_for_the_time_is_found() -> None:
    failing = [page(f"12:00:0{n} expired", status=CallStatus.FAILED) for n in range(3)]
    assert patterns(in_turns_of_one(*failing)) == [Pattern.IDENTICAL_RESULT]


def test_what_does_not_concern_it_leaves_the_detector_as_it_is() -> None:
    detector = RepeatedCalls()
    for observation in ObservationScript().user().turn(text="Hello.", signal_reason="more"):
        assert detector.observe(observation) == (detector, None)
        assert detector.observe(observation)[0] is detector


@pytest.mark.guarantee("B1")
@settings(deadline=None)
@given(st.lists(st.sampled_from("abU"), max_size=60), st.integers(2, 5))
def test_it_agrees_with_a_look_at_the_whole_history(letters: list[str], threshold: int) -> None:
    script, expected = ObservationScript(), list[int]()
    for letter, group in groupby(letters):
        length = len(list(group))
        for _ in range(length):
            _ = script.user() if letter == "U" else script.turn(call(letter))
        if letter != "U":
            expected += [count for count in range(threshold, length + 1) if count % threshold == 0]
    detector, findings = watch(RepeatedCalls(thresholds=Thresholds(identical_calls=threshold)), script)
    assert [finding.times for finding in findings] == expected
    assert len(detector.row.evidence) <= 6


@pytest.mark.guarantee("B1")
def test_a_page_that_failed_with_the_same_words_is_the_same_page() -> None:
    pages = [
        call("next_page", {"page": number}, result="no more", status=status, cursor=True)
        for number, status in enumerate((CallStatus.EXECUTED, CallStatus.FAILED, CallStatus.EXECUTED))
    ]
    assert patterns(in_turns_of_one(*pages)) == [Pattern.IDENTICAL_RESULT]
