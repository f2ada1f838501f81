"""All detectors of one run or scope, shown what happens there.

Detectors are shown every observation, and beside it each tool call as one ``Action``, once it is answered and
in the order in which the model asked. A detector of somebody else's that raises, or answers with something
that is no answer, is set aside and reported: it can neither break the run nor end it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, Self, runtime_checkable

from endstop.errors import brief, cause
from endstop.kernel.detectors.actions import CALL_CONCERNS, NO_OPEN_CALLS, OpenCalls, Seen
from endstop.kernel.detectors.breaker import CircuitBreaker
from endstop.kernel.evolve import draft, quick
from endstop.kernel.finding import Finding, Pattern
from endstop.kernel.observation import Observation, ToolCalled, ToolFinished


@runtime_checkable
class Detector(Protocol):
    """Anything that can be shown what happened and may find a pattern in it. A value: it changes nothing.

    A class attribute ``CONCERNS``, a tuple of types, says what it wants to be shown; without it, everything.
    """

    def observe(self, seen: Seen, /) -> tuple[Self, Finding | None]:
        """The detector after this, itself if it does not concern it, and what it found."""
        ...


class _Places(dict[type, tuple[int, ...] | None]):
    """For each type of thing that is seen, the places of the detectors that want to be shown it: those that
    do not say are shown all. None where nobody here has to be told. Worked out once per type."""

    def __init__(self, detectors: tuple[type, ...]) -> None:
        super().__init__()
        self._detectors = detectors
        self.breakers = tuple(
            place for place, kind in enumerate(detectors) if issubclass(kind, CircuitBreaker)
        )
        """The places of the detectors that can trip a call."""

    def __missing__(self, seen: type) -> tuple[int, ...] | None:
        wanting = enumerate(getattr(detector, "CONCERNS", (seen,)) for detector in self._detectors)
        places = tuple(place for place, concerns in wanting if seen in concerns)
        self[seen] = found = places if places or seen in CALL_CONCERNS else None
        return found


_places = cache(_Places)


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The detectors of one scope as they stand, and the calls that are not answered yet."""

    detectors: tuple[Detector, ...]
    open_calls: OpenCalls = NO_OPEN_CALLS
    places: _Places = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", _places(tuple(map(type, self.detectors))))

    def after(self, observation: Observation) -> tuple[Watch, tuple[Finding, ...]]:
        """The watch after an observation, and what was found in it."""
        kind = type(observation)
        places = self.places[kind]
        if places is None:
            return self, ()
        watch, actions = self, ()
        if self.open_calls is not NO_OPEN_CALLS or kind is ToolCalled or kind is ToolFinished:
            open_calls, actions = self.open_calls.after(observation)
            if open_calls is not self.open_calls:
                watch = draft(self)
                watch.open_calls = open_calls
                watch.__class__ = Watch
        if not places and not actions:
            return watch, ()
        found: list[Finding] = []
        if places:
            watch = watch._shown(observation, found)
        for action in actions:
            watch = watch._shown(action, found)
        return watch, tuple(found)

    def is_tripped(self, tool: str, key: str) -> bool:
        """Whether a call failed the same way too often and is not to be executed (B5)."""
        for place in self.places.breakers:
            breaker: Any = self.detectors[place]
            if breaker.is_tripped(tool, key):
                return True
        return False

    def _shown(self, seen: Seen, found: list[Finding]) -> Watch:
        """The watch after its detectors were shown something; what they find is added to ``found``."""
        changed: list[Detector] | None = None
        are_same_kinds = True
        for place in self.places[type(seen)] or ():
            detector = self.detectors[place]
            try:
                following, finding = detector.observe(seen)
                if finding is not None:
                    _require_finding(finding)
            except Exception as error:  # noqa: BLE001 - a detector of somebody else's is not trusted
                following, finding = _SetAside(), _failure(detector, error)
            if following is not detector:
                if changed is None:
                    changed = list(self.detectors)
                changed[place] = following
                are_same_kinds &= type(following) is type(detector)
            if finding is not None:
                found.append(finding)
        if changed is None:
            return self
        if not are_same_kinds:  # one was set aside, or became another
            return Watch(detectors=tuple(changed), open_calls=self.open_calls)
        watch = draft(self)
        watch.detectors = tuple(changed)
        watch.__class__ = Watch
        return watch


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
