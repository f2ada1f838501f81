"""Messages without a tool call and without anything new (B4)."""

import pytest

from endstop.kernel.detectors import Silence
from endstop.kernel.finding import Pattern
from endstop.kernel.limits import LimitKind
from endstop.kernel.thresholds import Thresholds
from endstop.testing import ObservationScript, call, watch


def messages(*texts: str | None) -> ObservationScript:
    """A turn without a call for each text; None for a turn with one."""
    script = ObservationScript()
    for text in texts:
        _ = script.turn(call("look"), text="") if text is None else script.turn(text=text)
    return script


def times(script: ObservationScript, threshold: int = 3) -> list[int]:
    _, findings = watch(Silence(thresholds=Thresholds(silent_messages=threshold)), script)
    return [finding.times for finding in findings]


@pytest.mark.guarantee("B4", "B8")
def test_a_finding_shows_the_messages() -> None:
    _, (finding,) = watch(Silence(), messages(None, "Done.", "done.", ""))
    assert finding.pattern is Pattern.SILENT
    assert finding.message == "3 messages in a row called no tool and said nothing new (turns 2, 3 and 4)"
    assert finding.advice.startswith("Call a tool")
    assert [each.what for each in finding.evidence] == ["Done.", "done.", "(no text)"]


@pytest.mark.guarantee("B4", "B11")
@pytest.mark.parametrize(
    ("threshold", "count", "expected"),
    [(3, 2, []), (3, 3, [3]), (3, 4, [3]), (3, 6, [3, 6]), (2, 2, [2]), (4, 3, [])],
)
def test_the_threshold_is_exact(threshold: int, count: int, expected: list[int]) -> None:
    assert times(messages(*["Done."] * count), threshold) == expected
    assert times(messages(*[""] * count), threshold) == expected


@pytest.mark.guarantee("B4")
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["One.", "Two.", "Three.", "Four."], []),
        (["Done.", " DONE. ", "done.\n"], [3]),
        (["One.", "Two.", "One.", "Two."], []),
        (["One.", "Two.", "One.", "Two.", "One."], [3]),
        (["One.", "", ""], []),
        (["One.", "", "", ""], [3]),
        (["One.", "One.", ""], [3]),
        (["", "", "New."], []),
        (["", "", "New.", "", ""], []),
        (["Done.", "Done.", None, "Done.", "Done."], []),
        (["Done.", "Done.", "News!", "Done."], []),
    ],
)
def test_only_messages_with_nothing_new_count(texts: list[str | None], expected: list[int]) -> None:
    assert times(messages(*texts)) == expected


@pytest.mark.guarantee("B4")
def test_a_message_of_the_user_begins_a_new_row() -> None:
    assert times(messages("Done.", "Done.").user().turn(text="Done.").turn(text="Done.")) == []


@pytest.mark.guarantee("B4")
def test_a_turn_without_any_message_is_passed_over() -> None:
    assert times(messages("Done.", "Done.").turn(text=None).turn(text="Done.")) == [3]


@pytest.mark.guarantee("B4")
def test_a_closing_turn_and_the_one_that_finishes_do_not_count() -> None:
    assert times(messages("Done.", "Done.").turn(text="Done.", closing=LimitKind.TURNS)) == []
    assert times(messages("Done.", "Done.").turn(text="Done.", finished=True)) == []


def test_what_was_said_is_remembered_within_bounds() -> None:
    detector, findings = watch(Silence(), messages(*[f"Message {number}" for number in range(200)]))
    assert findings == []
    assert len(detector.said) == 16


def test_what_does_not_concern_it_leaves_the_detector_as_it_is() -> None:
    detector = Silence()
    for observation in ObservationScript().iteration("x").turn(text=None):
        assert detector.observe(observation)[0] is detector
