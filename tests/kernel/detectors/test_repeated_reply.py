"""A reply that was cut off because it said the same over and over (B4)."""

import pytest

from endstop.kernel.detectors import RepeatedReply
from endstop.kernel.finding import Evidence, Pattern
from endstop.kernel.observation import ReplyRepeated
from endstop.testing import ObservationScript, call


@pytest.mark.guarantee("B4", "B8")
def test_a_reply_that_was_cut_off_is_a_finding() -> None:
    detector = RepeatedReply()
    after, finding = detector.observe(ReplyRepeated(at_s=1, turn=4, chunk="I am sorry.\n", times=10))
    assert after is detector
    assert finding is not None
    assert (finding.pattern, finding.times) == (Pattern.REPEATED_TEXT, 10)
    assert finding.message == "A reply said the same 10 times (turn 5): I am sorry."
    assert finding.advice.startswith("The reply was cut off")
    assert finding.evidence == (Evidence(turn=4, what="I am sorry."),)


def test_nothing_else_concerns_it() -> None:
    detector = RepeatedReply()
    for observation in ObservationScript().user().turn(call("a"), text="Hello."):
        assert detector.observe(observation) == (detector, None)
