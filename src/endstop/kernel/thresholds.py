"""How often is too often (section B). Every figure can be set, within bounds, per agent (B11)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType

from endstop.errors import InvalidValueError
from endstop.kernel.limits import whole

_USUAL_BOUNDS = (2, 100)
"""Once is no repetition, and a hundred in a row is more than anybody wants to pay for."""

_BOUNDS = MappingProxyType(
    {
        "longest_cycle": (2, 8),
        "smallest_chunk_chars": (2, 500),
        "largest_chunk_chars": (20, 4_000),
        "tool_reminders": (0, 10),
        "convergence_iterations": (3, 100),
        "convergence_lines": (0, 10_000),
    }
)
"""Where the usual bounds make no sense. Fewer than three iterations are never stuck (B7)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From how many repetitions on a run counts as stuck, pattern by pattern."""

    identical_calls: int = 3
    """The same tool with the same arguments, in a row (B1)."""
    identical_results: int = 3
    """The same page from a cursor tool, in a row (B1)."""
    errors_in_a_row: int = 3
    """Tool errors without a success between them (B2)."""
    same_reason: int = 3
    """Turns in a row that ask for another turn for the same reason (B3)."""
    cycle_rounds: int = 3
    """Rounds of the same few actions (B4)."""
    longest_cycle: int = 3
    """The most actions that one round of a cycle may have (B4)."""
    silent_messages: int = 3
    """Messages in a row without a tool call and without new content (B4)."""
    repeated_chunks: int = 10
    """Copies of one chunk of text, one after the other, inside one reply (B4)."""
    smallest_chunk_chars: int = 20
    """A shorter chunk must repeat until it fills as much text as this one would."""
    largest_chunk_chars: int = 2_000
    """Longer chunks are not looked for; it bounds the memory of the search."""
    failures_to_trip: int = 3
    """Failures of one call with the same error until it is not executed any more (B5)."""
    tool_reminders: int = 1
    """Reminders to an agent that must use tools and does not; the next time it is ended (B6)."""
    convergence_iterations: int = 3
    """Iterations that are compared with each other (B7)."""
    convergence_lines: int = 10
    """Lines of code this close to each other count as no change (B7)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            smallest, largest = _BOUNDS.get(field.name, _USUAL_BOUNDS)
            whole(field.name, getattr(self, field.name), smallest=smallest, largest=largest)
        if self.smallest_chunk_chars > self.largest_chunk_chars:
            raise InvalidValueError(
                "smallest_chunk_chars",
                self.smallest_chunk_chars,
                allowed=f"at most largest_chunk_chars, which is {self.largest_chunk_chars:,}",
                to_do="Lower the one or raise the other",
            )


DEFAULT_THRESHOLDS = Thresholds()
