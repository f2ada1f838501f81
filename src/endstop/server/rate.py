"""How much one user may start: so many runs a minute, and so many at once. Time arrives as data."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from endstop.errors import TooManyError
from endstop.kernel.limits import whole

_AT_ONCE_RETRY_S = 5.0
"""Nobody knows when a run under way will end: a guess that neither floods nor keeps people waiting."""

_STARTING_S = 10.0
"""A start that has not been told to be over after this long counts no more: whoever began it is gone."""

_MOST_USERS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """What one user may start."""

    per_minute: int = 30
    at_once: int = 8

    def __post_init__(self) -> None:
        whole("per_minute", self.per_minute, smallest=1, largest=1_000_000)
        whole("at_once", self.at_once, smallest=1, largest=1_000_000)


@dataclass(slots=True, kw_only=True)
class _Bucket:
    """What a user has left to start; it fills up again evenly."""

    left: float
    filled_at_s: float


class QueryRate:
    """Counts the starts of each user, and refuses those that are too many."""

    def __init__(self, limits: QueryLimits) -> None:
        self._limits = limits
        self._buckets: dict[str, _Bucket] = {}
        self._starting: dict[str, list[float]] = {}

    def admit(self, user: str, *, running: int, now_s: float) -> float:
        """Let one more begin, or raise. What it returns is to be given to ``begun`` once it runs."""
        limits = self._limits
        starting = [at for at in self._starting.get(user, ()) if now_s - at < _STARTING_S]
        if running + len(starting) >= limits.at_once:
            raise _too_many(
                f"{limits.at_once} of your runs are under way", limits, retry_after_s=_AT_ONCE_RETRY_S
            )
        bucket = self._filled(user, now_s)
        if bucket.left < 1:
            wait_s = (1 - bucket.left) * 60 / limits.per_minute
            raise _too_many(
                f"You have started {limits.per_minute} runs within a minute", limits, retry_after_s=wait_s
            )
        bucket.left -= 1
        self._starting[user] = [*starting, now_s]
        return now_s

    def begun(self, user: str, started: float) -> None:
        """It runs, or it never will: from now on, others count it."""
        starting = self._starting.get(user, [])
        if started in starting:
            starting.remove(started)
        if not starting:
            self._starting.pop(user, None)

    def _filled(self, user: str, now_s: float) -> _Bucket:
        most = float(self._limits.per_minute)
        if len(self._buckets) >= _MOST_USERS:
            self._forget_full(now_s)
        bucket = self._buckets.setdefault(user, _Bucket(left=most, filled_at_s=now_s))
        bucket.left = min(most, bucket.left + max(0.0, now_s - bucket.filled_at_s) * most / 60)
        bucket.filled_at_s = now_s
        return bucket

    def _forget_full(self, now_s: float) -> None:
        """A bucket that is full again is as good as none."""
        self._buckets = {user: each for user, each in self._buckets.items() if now_s - each.filled_at_s < 60}


def _too_many(what: str, limits: QueryLimits, *, retry_after_s: float) -> TooManyError:
    return TooManyError(
        what,
        allowed=f"{limits.per_minute} a minute, and {limits.at_once} at once",
        to_do=f"Try again in {ceil(retry_after_s)} s, or end one of them",
        retry_after_s=retry_after_s,
    )
