"""The stuck detectors (section B). Each is told every observation of one run or scope, and reports findings.

A detector is a value: ``observe`` gives back the detector as it is afterwards and changes nothing. It takes
the same time for every observation and keeps only a few of them, however long the run. It reports at its
threshold and again at each multiple of it while the row goes on. It ends nothing: what a finding leads to
is for the run's policy to decide (B8).

``RepeatedChunk`` stands apart: it reads a reply while it streams, so it is mutable and belongs to whoever
reads the stream.
"""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

from endstop.kernel.detectors.breaker import CircuitBreaker
from endstop.kernel.detectors.convergence import Convergence
from endstop.kernel.detectors.cycles import Cycles
from endstop.kernel.detectors.error_streak import ErrorStreak
from endstop.kernel.detectors.repeated_reply import RepeatedReply
from endstop.kernel.detectors.repetition import RepeatedCalls
from endstop.kernel.detectors.same_reason import SameReason
from endstop.kernel.detectors.silence import Silence
from endstop.kernel.detectors.streamed_text import RepeatedChunk, RepeatedText
from endstop.kernel.detectors.unused_tools import UnusedTools
from endstop.kernel.finding import Finding
from endstop.kernel.observation import Observation
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds

__all__ = [
    "CircuitBreaker",
    "Convergence",
    "Cycles",
    "Detector",
    "ErrorStreak",
    "RepeatedCalls",
    "RepeatedChunk",
    "RepeatedReply",
    "RepeatedText",
    "SameReason",
    "Silence",
    "UnusedTools",
    "standard_detectors",
]


@runtime_checkable
class Detector(Protocol):
    """Anything that can be told what happened and may find a pattern in it."""

    def observe(self, observation: Observation) -> tuple[Self, Finding | None]:
        """The detector after ``observation``, itself if that does not concern it, and what it found."""
        ...


def standard_detectors(
    thresholds: Thresholds = DEFAULT_THRESHOLDS, *, must_use_tools: bool = False
) -> tuple[Detector, ...]:
    """All detectors of section B. Those for unused tools only watch an agent that must use them."""
    detectors: tuple[Detector, ...] = (
        RepeatedCalls(thresholds=thresholds),
        Cycles(thresholds=thresholds),
        SameReason(thresholds=thresholds),
        RepeatedReply(),
        CircuitBreaker(thresholds=thresholds),
        ErrorStreak(thresholds=thresholds),
        Convergence(thresholds=thresholds),
    )
    if not must_use_tools:
        return detectors
    return (*detectors, UnusedTools(thresholds=thresholds), Silence(thresholds=thresholds))
