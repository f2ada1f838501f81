"""A clock that moves only when it is told to."""

from __future__ import annotations

from endstop.errors import InvalidValueError

_SOME_DAY_S = 1_767_225_600.0
"""The time of day at zero on a fake clock: the beginning of 2026."""


class FakeClock:
    """Stands still until ``advance``, and never goes backwards."""

    __slots__ = ("_now_s",)

    def __init__(self, now_s: float = 0.0) -> None:
        self._now_s = now_s

    def monotonic_s(self) -> float:
        return self._now_s

    def unix_s(self) -> float:
        return _SOME_DAY_S + self._now_s

    def advance(self, seconds: float) -> float:
        """Let ``seconds`` pass, and tell the time after them."""
        if not seconds >= 0:
            raise InvalidValueError(
                "seconds", seconds, allowed="zero or more", to_do="A clock never goes backwards"
            )
        self._now_s += seconds
        return self._now_s
