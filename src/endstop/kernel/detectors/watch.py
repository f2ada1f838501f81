"""All detectors of one run or scope, shown what happens there.

Detectors are shown every observation, and beside it each tool call as one ``Action``, once it is answered and
in the order in which the model asked. A detector of somebody else's that raises, or answers with something
that is no answer, is set aside and reported: it can neither break the run nor end it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol, Self, runtime_checkable

from endstop.errors import brief, cause
from endstop.kernel.detectors.actions import NO_OPEN_CALLS, OpenCalls, Seen
from endstop.kernel.detectors.breaker import CircuitBreaker
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.observation import Observation


@runtime_checkable
class Detector(Protocol):
    """Anything that can be shown what happened and may find a pattern in it. A value: it changes nothing.

    A class attribute ``CONCERNS``, a tuple of types, says what it wants to be shown; without it, everything.
    """

    def observe(self, seen: Seen, /) -> tuple[Self, Finding | None]:
        """The detector after this, itself if it does not concern it, and what it found."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The detectors of one scope as they stand, and the calls that are not answered yet."""

    detectors: tuple[Detector, ...]
    open_calls: OpenCalls = NO_OPEN_CALLS

    def after(self, observation: Observation) -> tuple[Watch, tuple[Finding, ...]]:
        """The watch after an observation, and what was found in it."""
        open_calls, actions = self.open_calls.after(observation)
        found: list[Finding] = []
        detectors = _shown(self.detectors, observation, found)
        for action in actions:
            detectors = _shown(detectors, action, found)
        if open_calls is self.open_calls and detectors is self.detectors:
            return self, tuple(found)
        return Watch(detectors=detectors, open_calls=open_calls), tuple(found)

    def is_tripped(self, tool: str, key: str) -> bool:
        """Whether a call failed the same way too often and is not to be executed (B5)."""
        return any(
            detector.is_tripped(tool, key)
            for detector in self.detectors
            if isinstance(detector, CircuitBreaker)
        )


def _shown(detectors: tuple[Detector, ...], seen: Seen, found: list[Finding]) -> tuple[Detector, ...]:
    """The detectors after they were shown something; what they find is added to ``found``."""
    changed: list[Detector] | None = None
    for place in _concerned(tuple(map(type, detectors)), type(seen)):
        detector = detectors[place]
        try:
            following, finding = detector.observe(seen)
            if finding is not None:
                _require_finding(finding)
        except Exception as error:  # noqa: BLE001 - a detector of somebody else's is not trusted
            following, finding = _SetAside(), _failure(detector, error)
        if following is not detector:
            if changed is None:
                changed = list(detectors)
            changed[place] = following
        if finding is not None:
            found.append(finding)
    return detectors if changed is None else tuple(changed)


@cache
def _concerned(detectors: tuple[type, ...], seen: type) -> tuple[int, ...]:
    """The places of the detectors that want to be shown such a thing: those that do not say are shown all."""
    return tuple(
        place for place, detector in enumerate(detectors) if seen in getattr(detector, "CONCERNS", (seen,))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SetAside:
    """In the place of a detector that failed: finds nothing."""

    def observe(self, seen: Seen) -> tuple[_SetAside, Finding | None]:  # noqa: ARG002
        return self, None


def _require_finding(finding: object) -> None:
    if not isinstance(finding, Finding):
        raise TypeError(f"it found {brief(finding)}, which is no Finding")


def _failure(detector: object, error: Exception) -> Finding:
    name = type(detector).__name__
    return Finding(
        pattern=Pattern.DETECTOR_FAILED,
        message=f"The detector {name} failed and is not asked again: {cause(error)}.",
        advice="Mend the detector; the run goes on without it.",
        times=1,
    )
