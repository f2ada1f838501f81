"""The same reason for another turn, again and again (B3)."""

import pytest

from endstop.kernel.detectors import SameReason
from endstop.kernel.finding import Evidence, Pattern
from endstop.kernel.observation import SignalGiven
from endstop.kernel.thresholds import Thresholds
from endstop.testing import ObservationScript, call, watch


def reasons(*given: str | None) -> ObservationScript:
    """One turn for each; None for a turn without a signal."""
    script = ObservationScript()
    for number, reason in enumerate(given):
        script.turn(call("read", {"page": number}), signal_reason=reason)
    return script


def times(script: ObservationScript, threshold: int = 3) -> list[int]:
    _, findings = watch(SameReason(thresholds=Thresholds(same_reason=threshold)), script)
    return [finding.times for finding in findings]


@pytest.mark.guarantee("B3", "B8")
def test_a_finding_quotes_the_reason() -> None:
    _, (finding,) = watch(SameReason(), reasons(None, "Read more", "read  more", "READ MORE"))
    assert finding.pattern is Pattern.SAME_REASON
    assert finding.message == (
        "Another turn was asked for 3 times in a row for the same reason (turns 2, 3 and 4): READ MORE"
    )
    assert finding.advice == "Answer with what there is, and say what is missing."
    assert finding.evidence[0] == Evidence(turn=1, what="Read more")


@pytest.mark.guarantee("B3", "B11")
@pytest.mark.parametrize(
    ("threshold", "turns", "expected"),
    [(3, 2, []), (3, 3, [3]), (3, 4, [3]), (3, 7, [3, 6]), (2, 2, [2]), (4, 3, [])],
)
def test_the_threshold_is_exact(threshold: int, turns: int, expected: list[int]) -> None:
    assert times(reasons(*["more"] * turns), threshold) == expected


@pytest.mark.guarantee("B3", "C5")
def test_another_reason_or_a_turn_without_a_signal_ends_the_row() -> None:
    assert times(reasons("more", "more", "other", "more")) == []
    assert times(reasons("more", "more", None, "more", "more")) == []


@pytest.mark.guarantee("B3", "C5")
@pytest.mark.parametrize("signal", ["stuck", "context_sufficient", "partial_answer"])
def test_a_signal_of_another_type_ends_the_row(signal: str) -> None:
    script = reasons("more", "more").turn(signal=signal, signal_reason="more").turn(signal_reason="more")
    assert times(script) == []


@pytest.mark.guarantee("B3")
def test_a_need_turn_without_a_reason_ends_the_row() -> None:
    assert times(reasons("more", "more").turn(signal="need_turn").turn(signal_reason="more")) == []


@pytest.mark.guarantee("B3")
def test_only_the_first_signal_of_a_turn_counts() -> None:
    script = ObservationScript()
    for turn in range(3):
        script.turn(signal_reason="more")
        again = SignalGiven(at_s=0, turn=turn, type="need_turn", confidence=1, reason=f"other {turn}")
        script.observations.insert(-1, again)
    assert times(script) == [3]


@pytest.mark.guarantee("B3", "C5")
def test_a_message_of_the_user_does_not_end_the_row() -> None:
    assert times(reasons("more", "more").user().turn(signal_reason="more")) == [3]


def test_what_does_not_concern_it_leaves_the_detector_as_it_is() -> None:
    detector = SameReason()
    for observation in ObservationScript().user().turn(call("a"), text="Hello."):
        assert detector.observe(observation)[0] is detector
