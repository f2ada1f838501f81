"""What an agent can say about how it stands (requirements C1 and C2), as values.

A signal has a type, a confidence and fields. How it is written in a reply is the business of
``envelope`` (one signal) and ``stream`` (signals in a text); nothing here reads text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from endstop.errors import InvalidValueError

DEFAULT_CONFIDENCE = 0.5
"""The confidence of a signal that gives none, or none that can be read."""

_MAX_LOGGED_CHARS = 200


class SignalType(StrEnum):
    """How the agent stands."""

    NEED_TURN = "need_turn"
    CONTEXT_SUFFICIENT = "context_sufficient"
    STUCK = "stuck"
    NEED_CAPABILITY = "need_capability"
    PARTIAL_ANSWER = "partial_answer"
    DELEGATION_RECOMMENDED = "delegation_recommended"


FIELDS_OF: Mapping[SignalType, tuple[str, ...]] = MappingProxyType(
    {
        SignalType.NEED_TURN: ("reason", "expected_turns"),
        SignalType.CONTEXT_SUFFICIENT: ("sources_found", "source_types"),
        SignalType.STUCK: ("attempted", "blocker", "suggestions"),
        SignalType.NEED_CAPABILITY: ("capability", "reason", "workaround"),
        SignalType.PARTIAL_ANSWER: ("missing", "caveat"),
        SignalType.DELEGATION_RECOMMENDED: ("reason", "scope", "estimated_tokens", "subagent_type"),
    }
)
"""The fields each type is asked for. A model may leave some out or add others; what it adds is kept."""

JsonValue: TypeAlias = "bool | int | float | str | tuple[JsonValue, ...] | Mapping[str, JsonValue] | None"
"""What JSON can say, with tuples for lists and read-only mappings for objects."""

FieldValue: TypeAlias = "int | str | tuple[JsonValue, ...]"
"""What a field can hold: a whole number, a JSON list, or anything else as text."""


def _no_fields() -> Mapping[str, FieldValue]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One well-formed signal. ``confidence`` is not among its ``fields``."""

    type: SignalType
    confidence: float = DEFAULT_CONFIDENCE
    fields: Mapping[str, FieldValue] = field(default_factory=_no_fields)

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise InvalidValueError("confidence", self.confidence, allowed="0.0 to 1.0")
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))

    @property
    def reason(self) -> str | None:
        """The field ``reason`` as text, whatever it was read as; None if there is none."""
        value = self.fields.get("reason")
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False, default=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MalformedSignal:
    """A log entry: something meant as a signal that could not be read as one, and was not shown."""

    text: str
    """Its first 200 characters."""
    problem: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text[:_MAX_LOGGED_CHARS])
