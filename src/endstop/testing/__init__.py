"""What tests of agents need, without a network, a key or a wait.

A model that answers as it is told and adversaries that do not, a store in memory, a clock that obeys,
scripted observations, recorded traces.
"""

from __future__ import annotations

from endstop.testing.adversaries.adversary import Adversary
from endstop.testing.adversaries.calls import Runaway
from endstop.testing.adversaries.gallery import ADVERSARIES
from endstop.testing.clock import FakeClock
from endstop.testing.counting import ScriptedPrice
from endstop.testing.echo import echo_tool
from endstop.testing.memory_store import MemoryStore
from endstop.testing.replies import ScriptedReply, WantedCall, calls, calls_many, fails, reply, says
from endstop.testing.scripted import ObservationScript, ScriptedCall, call, watch
from endstop.testing.scripted_model import RequestSummary, ScriptedModel
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
    "ADVERSARIES",
    "Adversary",
    "FakeClock",
    "MalformedTraceError",
    "MemoryStore",
    "ObservationScript",
    "RequestSummary",
    "Runaway",
    "ScriptedCall",
    "ScriptedModel",
    "ScriptedPrice",
    "ScriptedReply",
    "Trace",
    "TraceCall",
    "TraceFinding",
    "TraceSignal",
    "TraceStep",
    "WantedCall",
    "call",
    "calls",
    "calls_many",
    "echo_tool",
    "fails",
    "is_alarm",
    "observations_of",
    "read_traces",
    "reply",
    "run_trace",
    "says",
    "watch",
]
