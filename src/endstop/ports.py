"""The outside world, on one page: what Endstop asks of whoever runs it."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Two clocks in one. ``time.monotonic`` and ``time.time`` behind a name that tests can replace."""

    def monotonic_s(self) -> float:
        """Seconds that never go back. Their zero means nothing."""
        ...

    def unix_s(self) -> float:
        """The time of day, as seconds since 1970. For people: nothing is decided by it."""
        ...
