"""Scripts of observations."""

from decimal import Decimal

from endstop.kernel.detectors import RepeatedCalls
from endstop.kernel.ledger import ROOT
from endstop.kernel.observation import (
    AgentFinished,
    AssistantSaid,
    CallStatus,
    IterationEnded,
    SignalGiven,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from endstop.testing import ObservationScript, call, watch


def test_a_turn_is_told_in_the_order_in_which_it_happens() -> None:
    script = (
        ObservationScript()
        .user("Hi")
        .turn(call("a"), call("b"), text="Yes.", signal_reason="more", finished=True)
    )
    assert [type(each) for each in script] == [
        UserSaid,
        TurnStarted,
        AssistantSaid,
        SignalGiven,
        ToolCalled,
        ToolCalled,
        ToolFinished,
        ToolFinished,
        AgentFinished,
        TurnEnded,
    ]
    assert [each.at_s for each in script] == [float(number) for number in range(10)]
    assert {each.scope for each in script} == {ROOT}


def test_turns_and_calls_are_numbered() -> None:
    script = (
        ObservationScript(scope="child").turn().turn(call("a", [1], result="r", cursor=True, changes=True))
    )
    called, finished = (each for each in script if isinstance(each, ToolCalled | ToolFinished))
    assert isinstance(called, ToolCalled)
    assert isinstance(finished, ToolFinished)
    assert (called.turn, called.call, called.arguments, called.is_cursor) == (1, "call-1-0", "[1]", True)
    assert (finished.key, finished.result, finished.changes_something) == (called.key, "r", True)
    assert finished.scope == "child"


def test_a_call_ends_as_it_is_told_to() -> None:
    assert call("a").status is CallStatus.EXECUTED
    assert call("a", ok=False).status is CallStatus.FAILED
    assert call("a", ok=False, status=CallStatus.SKIPPED).status is CallStatus.SKIPPED
    assert call("a").arguments == {}
    assert call("a", waiting=True).is_waiting


def test_a_turn_can_be_without_any_message() -> None:
    assert not any(isinstance(each, AssistantSaid) for each in ObservationScript().turn(text=None))


def test_iterations_are_numbered() -> None:
    script = ObservationScript().iteration("a", lines_of_code=3, cost_usd="0.10").iteration()
    first, second = script.observations
    assert first == IterationEnded(
        at_s=0, iteration=0, issues=("a",), lines_of_code=3, cost_usd=Decimal("0.10")
    )
    assert second == IterationEnded(at_s=1, iteration=1)


def test_watching_tells_what_a_detector_found_and_how_it_is_then() -> None:
    script = ObservationScript().turn(call("a"), call("a"), call("a"))
    detector, findings = watch(RepeatedCalls(), script)
    assert detector.row.count == 3
    assert [finding.times for finding in findings] == [3]
