"""Traces, and what detectors make of them."""

import pytest

from endstop.kernel.detectors import ErrorStreak, RepeatedCalls
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.observation import (
    AssistantSaid,
    CallStatus,
    SignalGiven,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from endstop.testing import (
    Trace,
    TraceCall,
    TraceSignal,
    TraceStep,
    is_alarm,
    observations_of,
    run_trace,
)

LOOK = TraceCall(tool="look", args={"at": 1}, result="seen")


def trace(*steps: TraceStep, must_use_tools: bool = False) -> Trace:
    return Trace(id="t", steps=steps, must_use_tools=must_use_tools)


def test_a_step_becomes_a_turn() -> None:
    failing = TraceCall(tool="fetch", ok=False, result="no", waiting=True, cursor=True, changes=True)
    step = TraceStep(
        turn=4, text="Hm.", signal=TraceSignal(reason="more"), user_before=True, calls=(LOOK, failing)
    )
    told = list(observations_of(trace(step)))
    assert [type(each) for each in told] == [
        UserSaid,
        TurnStarted,
        AssistantSaid,
        SignalGiven,
        ToolCalled,
        ToolCalled,
        ToolFinished,
        ToolFinished,
        TurnEnded,
    ]
    last = told[-2]
    assert isinstance(last, ToolFinished)
    assert (last.turn, last.status, last.result) == (4, CallStatus.FAILED, "no")
    assert (last.is_waiting, last.is_cursor, last.changes_something) == (True, True, True)


def test_the_clock_counts_up() -> None:
    steps = [TraceStep(turn=number, calls=(LOOK, LOOK), user_before=number == 1) for number in range(3)]
    times = [each.at_s for each in observations_of(trace(*steps))]
    assert times == sorted(set(times))


def test_findings_come_with_the_step_at_which_they_were_made() -> None:
    steps = [TraceStep(turn=number, calls=(LOOK,)) for number in range(5)]
    (found,) = run_trace(trace(*steps))
    assert (found.step, found.finding.pattern) == (2, Pattern.IDENTICAL_CALL)


def test_any_detectors_can_be_shown_a_trace() -> None:
    failing = TraceCall(tool="look", ok=False)
    steps = [TraceStep(turn=number, calls=(failing,)) for number in range(3)]
    assert [each.finding.pattern for each in run_trace(trace(*steps), [ErrorStreak()])] == [
        Pattern.ERROR_STREAK
    ]
    assert run_trace(trace(*steps), []) == ()
    assert len(run_trace(trace(*steps), iter([RepeatedCalls(), ErrorStreak()]))) == 2


def test_what_repeats_is_counted_within_each_conversation() -> None:
    apart = [TraceStep(turn=number, conversation=str(number), calls=(LOOK,)) for number in range(3)]
    assert run_trace(trace(*apart)) == ()
    taking_turns = [
        TraceStep(turn=number, conversation=str(number % 2), calls=(LOOK,)) for number in range(5)
    ]
    assert [each.step for each in run_trace(trace(*taking_turns))] == [4]


def test_an_agent_that_must_use_tools_is_watched_for_it() -> None:
    steps = [TraceStep(turn=number, text=f"Thought {number}") for number in range(2)]
    assert run_trace(trace(*steps)) == ()
    found = run_trace(trace(*steps, must_use_tools=True))
    assert [each.finding.pattern for each in found] == [Pattern.TOOLS_UNUSED, Pattern.TOOLS_REFUSED]


@pytest.mark.guarantee("B10")
@pytest.mark.parametrize("pattern", Pattern)
def test_error_streaks_and_reminders_are_no_alarms(pattern: Pattern) -> None:
    finding = Finding(pattern=pattern, message="m", advice="a", times=3)
    quiet = {Pattern.ERROR_STREAK, Pattern.TOOLS_UNUSED, Pattern.CUSTOM, Pattern.DETECTOR_FAILED}
    assert is_alarm(finding) is (pattern not in quiet)
