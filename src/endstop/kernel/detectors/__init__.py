"""The stuck detectors (section B). Each is told every observation of one run or scope, and reports findings.

A detector is a value: ``observe`` gives back the detector as it is afterwards and changes nothing. It takes
the same time for every observation and keeps only a few of them, however long the run. It reports at its
threshold and again at each multiple of it while the row goes on. It ends nothing: what a finding leads to
is for the run's policy to decide (B8).

``RepeatedChunk`` stands apart: it reads a reply while it streams, so it is mutable and belongs to whoever
reads the stream.
"""

from __future__ import annotations

from functools import lru_cache

from endstop.kernel.detectors.actions import Action, Seen
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
from endstop.kernel.detectors.watch import Detector, Watch
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds

__all__ = [
    "Action",
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
    "Seen",
    "Silence",
    "UnusedTools",
    "Watch",
    "standard_detectors",
]


@lru_cache(maxsize=64)  # they are values: runs of one configuration can begin with the same ones
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
