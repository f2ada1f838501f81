"""Links that let whoever opens them first come in as the owner. Kept in memory: they end with the server.

Browsers open a link twice now and then: to be quick, or because somebody clicked twice. Whoever was let in a
moment ago, and has the cookie to show for it, is told the same once more; nobody else is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from endstop.ports import Clock
from endstop.server.tokens import hashed, is_same, new_secret

LINK_S = 3_600.0
"""How long a link can be used."""

AGAIN_S = 60.0
"""So long the browser that has used it may open it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """What a browser gets that has come in. Neither half is worth anything without the other."""

    user: str
    cookie: str = field(repr=False)
    """For the cookie, which the browser sends to every port of this machine."""
    key: str = field(repr=False)
    """For the page, which shows it to this server and to no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Used:
    """A link that was used a moment ago."""

    by: SignedIn
    until_s: float


class Links:
    """The links of one server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until_s: dict[str, float] = {}
        self._used: dict[str, _Used] = {}

    def new(self) -> str:
        """The secret of a new link."""
        secret = new_secret()
        self._until_s[hashed(secret)] = self._clock.monotonic_s() + LINK_S
        return secret

    def take(self, secret: str) -> bool:
        """Use a link up. False if it was used, has expired, or never was."""
        until_s = self._until_s.pop(hashed(secret), None)
        return until_s is not None and self._clock.monotonic_s() < until_s

    def used(self, secret: str, by: SignedIn) -> None:
        """Remember for a moment who has used it."""
        now_s = self._clock.monotonic_s()
        self._used = {link: used for link, used in self._used.items() if now_s < used.until_s}
        self._used[hashed(secret)] = _Used(by=by, until_s=now_s + AGAIN_S)

    def again(self, secret: str, cookie: str | None) -> SignedIn | None:
        """What the browser with this cookie got for the link a moment ago; None for everybody else."""
        used = self._used.get(hashed(secret))
        if used is None or cookie is None or self._clock.monotonic_s() >= used.until_s:
            return None
        return used.by if is_same(used.by.cookie, cookie) else None
