"""All detectors of section B, together."""

from dataclasses import is_dataclass

import pytest

from endstop.kernel.detectors import (
    CircuitBreaker,
    Convergence,
    Cycles,
    Detector,
    ErrorStreak,
    RepeatedCalls,
    RepeatedReply,
    SameReason,
    Seen,
    Silence,
    UnusedTools,
    standard_detectors,
)
from endstop.kernel.finding import Finding
from endstop.kernel.thresholds import Thresholds
from endstop.testing import ObservationScript, call, watch

ALWAYS = {RepeatedCalls, Cycles, SameReason, RepeatedReply, CircuitBreaker, ErrorStreak, Convergence}


@pytest.mark.guarantee("B1", "B2", "B3", "B4", "B5", "B6", "B7")
def test_those_for_unused_tools_watch_only_agents_that_must_use_them() -> None:
    assert {type(each) for each in standard_detectors()} == ALWAYS
    assert {type(each) for each in standard_detectors(must_use_tools=True)} == ALWAYS | {Silence, UnusedTools}


@pytest.mark.guarantee("B11")
def test_thresholds_reach_every_detector() -> None:
    thresholds = Thresholds(identical_calls=7)
    given = [
        getattr(each, "thresholds", thresholds)
        for each in standard_detectors(thresholds, must_use_tools=True)
    ]
    assert given == [thresholds] * 9


@pytest.mark.guarantee("B8")
def test_detectors_are_values_and_observing_changes_nothing() -> None:
    script = ObservationScript().turn(call("a", ok=False, result="no"), text="Hm.", signal_reason="more")
    for detector in standard_detectors(must_use_tools=True):
        assert is_dataclass(detector)
        assert isinstance(detector, Detector)
        before = repr(detector)
        first, again = watch(detector, script), watch(detector, script)
        assert repr(detector) == before
        assert first == again


@pytest.mark.guarantee("B8")
def test_each_finding_has_a_sentence_advice_and_evidence() -> None:
    script = ObservationScript()
    for _ in range(6):
        script.turn(call("a", ok=False, result="no"), signal_reason="more").turn(text="Hm.").turn(text="Hm.")
        script.iteration("slow")
    found: list[Finding] = []
    for detector in standard_detectors(must_use_tools=True):
        found += watch(detector, script)[1]
    assert len({finding.pattern for finding in found}) >= 5
    for finding in found:
        assert finding.message
        assert finding.advice.endswith((".", "?"))
        assert finding.evidence
        assert all(len(each.what) <= 250 for each in finding.evidence)


class Greeter:
    """A detector of somebody else's."""

    def observe(self, observation: Seen) -> tuple["Greeter", Finding | None]:
        return self, None


def test_anybody_can_write_a_detector() -> None:
    detector: Detector = Greeter()
    assert isinstance(detector, Detector)
    assert watch(detector, ObservationScript().user()) == (detector, [])


def test_state_stays_small_however_long_the_run() -> None:
    def size_after(turns: int) -> int:
        script = ObservationScript()
        for turn in range(turns):
            script.turn(
                call("read", {"page": turn % 7}, result=f"page {turn}"),
                call("fetch", {"n": turn % 99}, ok=turn % 3 == 0, result=f"error {turn % 5}"),
                text=f"Step {turn % 40}",
            )
            script.turn(text=f"Thought {turn % 50}")
        return sum(len(repr(watch(each, script)[0])) for each in standard_detectors(must_use_tools=True))

    assert size_after(1_000) < 1.2 * size_after(200)
