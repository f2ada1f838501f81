"""How an agent says how it stands: signals in its replies, read while they stream.

``SignalStream`` takes a reply chunk by chunk and gives back what may be shown; ``parse_reply`` does the
same for a whole reply. Both yield a ``Signal``, the first well-formed one, and log what was malformed or
came after it. ``SignalState`` folds the signals of a run. Nothing here decides what follows from a
signal: it is pure reading.
"""

from __future__ import annotations

from endstop.signals.contract import (
    DEFAULT_CONFIDENCE,
    FIELDS_OF,
    FieldValue,
    JsonValue,
    MalformedSignal,
    Signal,
    SignalType,
)
from endstop.signals.parse import ParsedReply, parse_reply
from endstop.signals.state import SignalState
from endstop.signals.stream import SignalStream

__all__ = [
    "DEFAULT_CONFIDENCE",
    "FIELDS_OF",
    "FieldValue",
    "JsonValue",
    "MalformedSignal",
    "ParsedReply",
    "Signal",
    "SignalState",
    "SignalStream",
    "SignalType",
    "parse_reply",
]
