"""What tests of agents need: a clock that obeys, scripted observations, recorded traces."""

from __future__ import annotations

from endstop.testing.clock import FakeClock
from endstop.testing.scripted import ObservationScript, ScriptedCall, call, watch
from endstop.testing.trace import (
    Trace,
    TraceCall,
    TraceFinding,
    TraceSignal,
    TraceStep,
    is_alarm,
    observations_of,
    run_trace,
)
from endstop.testing.trace_file import MalformedTraceError, read_traces

__all__ = [
    "FakeClock",
    "MalformedTraceError",
    "ObservationScript",
    "ScriptedCall",
    "Trace",
    "TraceCall",
    "TraceFinding",
    "TraceSignal",
    "TraceStep",
    "call",
    "is_alarm",
    "observations_of",
    "read_traces",
    "run_trace",
    "watch",
]
