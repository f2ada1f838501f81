"""What the policy does about a finding unless it is told otherwise (B8)."""

import pytest

from endstop.kernel.finding import DEFAULT_RESPONSES, Evidence, Finding, Pattern, Response


@pytest.mark.guarantee("B5", "B6", "B8")
@pytest.mark.parametrize("pattern", Pattern)
def test_every_pattern_stops_but_the_three_that_nudge(pattern: Pattern) -> None:
    nudges = {Pattern.FAILING_CALL, Pattern.TOOLS_UNUSED, Pattern.CUSTOM}
    assert DEFAULT_RESPONSES[pattern] is (Response.NUDGE if pattern in nudges else Response.STOP)


@pytest.mark.guarantee("B8")
def test_a_finding_names_its_pattern_its_evidence_and_what_to_do() -> None:
    seen = Evidence(turn=2, call="c1", what="search({})")
    finding = Finding(
        pattern=Pattern.CYCLE, message="What was seen", advice="What to do", times=3, evidence=(seen,)
    )
    assert (finding.pattern, finding.evidence[0].turn, finding.advice) == (Pattern.CYCLE, 2, "What to do")
    assert Finding(pattern=Pattern.CUSTOM, message="m", advice="a", times=1).evidence == ()
