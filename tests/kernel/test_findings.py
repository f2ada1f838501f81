"""What the policy does about a finding unless it is told otherwise (B8)."""

import pytest

from endstop.kernel.finding import DEFAULT_RESPONSES, Evidence, Finding, Pattern, Response


@pytest.mark.guarantee("B5", "B6", "B8")
@pytest.mark.parametrize("pattern", Pattern)
def test_every_pattern_stops_but_those_that_may_still_be_mended(pattern: Pattern) -> None:
    milder = {
        Pattern.FAILING_CALL: Response.NUDGE,
        Pattern.TOOLS_UNUSED: Response.NUDGE,
        Pattern.CUSTOM: Response.NUDGE,
        Pattern.DETECTOR_FAILED: Response.GO_ON,
    }
    assert DEFAULT_RESPONSES[pattern] is milder.get(pattern, Response.STOP)


@pytest.mark.guarantee("B8")
def test_a_finding_names_its_pattern_its_evidence_and_what_to_do() -> None:
    seen = Evidence(turn=2, call="c1", what="search({})")
    finding = Finding(
        pattern=Pattern.CYCLE, message="What was seen", advice="What to do", times=3, evidence=(seen,)
    )
    assert (finding.pattern, finding.evidence[0].turn, finding.advice) == (Pattern.CYCLE, 2, "What to do")
    assert Finding(pattern=Pattern.CUSTOM, message="m", advice="a", times=1).evidence == ()
