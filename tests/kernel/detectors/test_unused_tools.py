"""An agent that must use tools and does not (B6)."""

import pytest

from endstop.kernel.detectors import UnusedTools
from endstop.kernel.finding import Evidence, Pattern
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import AssistantSaid, CallSettled
from endstop.kernel.thresholds import Thresholds
from endstop.testing import ObservationScript, call, watch

UNUSED, REFUSED = Pattern.TOOLS_UNUSED, Pattern.TOOLS_REFUSED


def turns(letters: str) -> ObservationScript:
    """t for a turn with only text, c for one with a call, u for a message of the user."""
    script = ObservationScript()
    for letter in letters:
        _ = {
            "t": lambda: script.turn(text="I think."),
            "c": lambda: script.turn(call("look"), call("read")),
            "u": script.user,
        }[letter]()
    return script


def patterns(script: ObservationScript, reminders: int = 1) -> list[Pattern]:
    _, findings = watch(UnusedTools(thresholds=Thresholds(tool_reminders=reminders)), script)
    return [finding.pattern for finding in findings]


@pytest.mark.guarantee("B6", "B8")
def test_reminded_once_and_ended_the_second_time_in_a_row() -> None:
    _, (reminder, ending) = watch(UnusedTools(), turns("ctt"))
    assert reminder.pattern is UNUSED
    assert reminder.message == "No tool was called, though this agent must use tools (turn 2)"
    assert reminder.advice.startswith("You must use your tools.")
    assert ending.pattern is REFUSED
    assert ending.message == (
        "No tool was called in 2 turns in a row, though this agent must use tools (turns 2 and 3)"
    )
    assert ending.advice.startswith("End the run")
    assert ending.evidence == tuple(Evidence(turn=turn, what="no tool was called") for turn in (1, 2))


@pytest.mark.guarantee("B6", "B11")
@pytest.mark.parametrize(
    ("letters", "reminders", "expected"),
    [
        ("c", 1, []),
        ("t", 1, [UNUSED]),
        ("tt", 1, [UNUSED, REFUSED]),
        ("ttt", 1, [UNUSED, REFUSED]),
        ("tttt", 1, [UNUSED, REFUSED, REFUSED]),
        ("tctct", 1, [UNUSED, UNUSED, UNUSED]),
        ("tut", 1, [UNUSED, REFUSED]),
        ("t", 0, [REFUSED]),
        ("tt", 0, [REFUSED, REFUSED]),
        ("tt", 2, [UNUSED, UNUSED]),
        ("ttt", 2, [UNUSED, UNUSED, REFUSED]),
    ],
)
def test_turns_without_a_call_are_counted_in_a_row(
    letters: str, reminders: int, expected: list[Pattern]
) -> None:
    assert patterns(turns(letters), reminders) == expected


@pytest.mark.guarantee("B6")
def test_without_a_reminder_the_first_time_is_told_as_one_turn() -> None:
    _, (finding,) = watch(UnusedTools(thresholds=Thresholds(tool_reminders=0)), turns("t"))
    assert finding.message == "No tool was called in a turn, though this agent must use tools (turn 1)"


@pytest.mark.guarantee("B6")
def test_a_turn_in_which_the_agent_finished_does_not_count() -> None:
    assert patterns(turns("t").turn(text="Done.", finished=True)) == [UNUSED]
    assert patterns(ObservationScript().turn(text="Done.", finished=True)) == []


@pytest.mark.guarantee("A4", "B6")
def test_a_closing_turn_has_no_tools_to_call_and_does_not_count() -> None:
    assert patterns(turns("t").turn(text="In short:", closing=LimitKind.TURNS)) == [UNUSED]


@pytest.mark.guarantee("B6", "H5")
def test_a_model_call_that_was_never_answered_does_not_count() -> None:
    def turn(*, text: str | None, is_estimate: bool) -> ObservationScript:
        script = ObservationScript().turn(text=text)
        settled = CallSettled(at_s=0, turn=0, reservation="r", is_estimate=is_estimate)
        script.observations[-1:-1] = [settled, settled]
        return script

    assert patterns(turn(text=None, is_estimate=True)) == []
    assert patterns(turn(text="I think.", is_estimate=True)) == [UNUSED]
    assert patterns(turn(text=None, is_estimate=False)) == [UNUSED]


def test_what_does_not_concern_it_leaves_the_detector_as_it_is() -> None:
    detector = UnusedTools()
    for observation in ObservationScript().user().iteration("x"):
        assert detector.observe(observation)[0] is detector
    said = AssistantSaid(at_s=0, turn=0, text="Hello.")
    once, _ = detector.observe(said)
    assert once.observe(said)[0] is once
