"""All detectors of a scope together, those of others included, which are not trusted."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any, cast

import pytest

import endstop as es
from endstop.kernel.agent import AgentConfig
from endstop.kernel.detectors import Action, Detector, Seen, Watch, standard_detectors
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.governor import Governor
from endstop.kernel.observation import CancelRequested
from endstop.testing import ObservationScript, call


@dataclass(frozen=True)
class EveryCall:
    """A detector of somebody else's: finds every call to a tool."""

    tool: str
    count: int = 0

    def observe(self, seen: Seen) -> tuple[EveryCall, Finding | None]:
        if not isinstance(seen, Action) or seen.tool != self.tool:
            return self, None
        finding = Finding(pattern=Pattern.CUSTOM, message=f"{self.tool} again", advice="Stop it.", times=1)
        return EveryCall(self.tool, self.count + 1), finding


@dataclass(frozen=True)
class Broken:
    answer: object = None

    def observe(self, seen: Seen) -> tuple[Broken, Finding | None]:
        if isinstance(seen, Action):
            if self.answer is None:
                raise RuntimeError("a bug")
            return cast("Any", self.answer)
        return self, None


def test_a_detector_of_ones_own_is_shown_each_answered_call_once() -> None:
    watch = Watch(detectors=(EveryCall("search"),))
    found: list[Finding] = []
    for observation in ObservationScript().turn(call("search", {"q": 1}), call("read", {})):
        watch, findings = watch.after(observation)
        found.extend(findings)
    assert [finding.message for finding in found] == ["search again"]
    assert watch.detectors == (EveryCall("search", 1),)


def test_an_observation_that_concerns_nobody_leaves_the_watch_as_it_is() -> None:
    watch = Watch(detectors=standard_detectors())
    said = next(iter(ObservationScript().user("hello")))
    assert watch.after(said) == (watch, ())
    assert watch.after(said)[0] is watch


@pytest.mark.guarantee("B8")
@pytest.mark.parametrize("answer", [None, 7, (1, 2, 3), "no"])
def test_a_detector_that_fails_is_set_aside_and_reported_and_the_run_goes_on(answer: object) -> None:
    guard = es.Guard(es.Budget(turns=3), detectors=(Broken(answer), EveryCall("search")))
    while guard.may_continue():
        with guard.turn() as turn:
            turn.called("search", {"q": turn.number})
    assert guard.usage.turns == 3
    patterns = [
        getattr(fact.payload, "finding").pattern  # noqa: B009 - only findings have one
        for fact in guard.facts
        if fact.type == "agent.loop.detected"
    ]
    assert patterns == [Pattern.DETECTOR_FAILED, *[Pattern.CUSTOM] * 3]


def test_what_others_write_is_recognised_as_a_detector() -> None:
    assert isinstance(EveryCall("x"), Detector)
    assert not isinstance(object(), Detector)


@dataclass(frozen=True)
class AtCancelling:
    """Looks out for a cancellation, then becomes another detector."""

    def observe(self, seen: Seen) -> tuple[AtCancelling | EveryCall, Finding | None]:
        if not isinstance(seen, CancelRequested):
            return self, None
        finding = Finding(pattern=Pattern.CUSTOM, message="given up", advice="Ask why.", times=1)
        return EveryCall("search"), finding if seen.after_turn else None


@pytest.mark.parametrize("after_turn", [True, False])
def test_a_detector_is_shown_what_concerns_the_whole_run_and_may_become_another(after_turn: bool) -> None:
    config = AgentConfig(budget=es.Budget(turns=3))
    judge = Governor(config, detectors=(cast("Detector", AtCancelling()),))
    cancelled = CancelRequested(at_s=1, by="somebody", after_turn=after_turn)
    state, noticed = judge.observe(judge.start(), cancelled)
    own = state.scopes["run"]
    assert own.watch.detectors == (EveryCall("search"),)
    assert own.last_activity_s == 1
    assert [finding.message for finding in own.findings] == ["given up"] * after_turn
    assert len(noticed.notices) == after_turn


def test_a_detector_that_became_another_is_shown_what_that_one_wants() -> None:
    watch = Watch(detectors=(cast("Detector", AtCancelling()),))
    found: list[Finding] = []
    script = ObservationScript()
    for observation in (CancelRequested(at_s=0, by="somebody"), *script.turn(call("search", {}))):
        watch, findings = watch.after(observation)
        found.extend(findings)
    assert [finding.message for finding in found] == ["search again"]


def test_a_watch_can_be_copied_and_pickled() -> None:
    watch = Watch(detectors=standard_detectors())
    for observation in ObservationScript().turn(call("search", {"q": 1})):
        watch, _ = watch.after(observation)
    again = pickle.loads(pickle.dumps(watch))
    assert again == watch == copy.deepcopy(watch)
    assert again.places == watch.places
