"""Who calls, and may they: tokens for programs, a cookie with a key for the page, a link for the owner (I6).

Browsers send a cookie of 127.0.0.1 to every port of it, so whatever else listens there gets to see ours. That
is why a cookie is only half of a session: the page has the other half, the key, in a place that is bound to
the port, and sends it with every call. What is kept is the hash of both together.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from fastapi import Depends, FastAPI, Request

from endstop.app import SystemClock
from endstop.errors import AccessError, TooManyError
from endstop.kernel.review import RunPhase
from endstop.ports import Clock, StoredSession, StoredToken, WholeStore
from endstop.runner.owner import is_worked_on
from endstop.server.hosts import SAFE_METHODS, Hosts
from endstop.server.links import Links, SignedIn
from endstop.server.rate import QueryLimits, QueryRate
from endstop.server.tokens import hashed, hashed_together, is_good, is_same, is_secret, new_secret

if TYPE_CHECKING:
    from endstop.server.context import Context

SESSION_S = 30 * 86_400.0
"""How long a browser stays signed in."""

KEY_HEADER = "x-endstop-key"
"""Where the page says its half of the session."""

_TRUSTED_S = 1.0
"""So long a caller who was looked up is not looked up again: a token that is revoked ends within this."""

_COARSE_S = 600.0
"""The last use of a token is written down no more often than this."""

_MOST_KNOWN = 4_096


Via: TypeAlias = Literal["cookie", "token"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls."""

    user: str
    via: Via
    token_id: str | None = field(default=None, compare=False)
    """The token that this rests on, with a cookie the one it signed in with; None if none is kept."""
    hashed: str = field(default="", compare=False, repr=False)
    """The hash of what was shown to come in, so that it can be looked up again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Somebody who was found good a moment ago."""

    caller: Caller
    until_s: float


class Access:
    """Who may come in to one server."""

    def __init__(
        self,
        store: WholeStore,
        *,
        hosts: Hosts,
        owner: str | None = None,
        limits: QueryLimits | None = None,
        clock: Clock | None = None,
    ) -> None:
        """``owner``: on loopback, the user who started it, and who comes in by the link."""
        self.hosts = hosts
        self.owner = owner
        self.is_closing = False
        """The server is about to end: nothing new is begun."""
        self._store = store
        self._clock = SystemClock() if clock is None else clock
        self._limits = QueryLimits() if limits is None else limits
        self._rate = QueryRate(self._limits)
        self._links = Links(self._clock)
        self._own_tokens: dict[str, str] = {}
        self._known: dict[tuple[Via, str], _Known] = {}

    @classmethod
    def on_loopback(
        cls, store: WholeStore, *, user: str, port: int, limits: QueryLimits | None = None
    ) -> Access:
        """For the person who started it, on this machine only."""
        return cls(store, hosts=Hosts.loopback(port), owner=user, limits=limits)

    # ── who calls ─────────────────────────────────────────────────────────────────────────────────────────

    async def caller_of(self, request: Request) -> Caller:
        """Who calls, or ``AccessError``. One that has a cookie must show that a page of ours sends it."""
        given = request.headers.getlist("authorization")
        if given:  # a bad token is not made good by a cookie
            return await self._looked_up("token", _bearer(given))
        cookie, keys = self.cookie_of(request), request.headers.getlist(KEY_HEADER)
        if cookie is None or len(keys) != 1 or not is_secret(cookie) or not is_secret(keys[0]):
            raise _nobody()
        if request.method not in SAFE_METHODS:
            headers = request.headers
            self.hosts.require_own_page(
                headers.get("host", ""), origin=headers.get("origin"), referer=headers.get("referer")
            )
        return await self._looked_up("cookie", hashed_together(cookie, keys[0]))

    async def is_still_known(self, caller: Caller) -> bool:
        """Whether somebody who came in would still be let in, now or a second ago."""
        try:
            await self._looked_up(caller.via, caller.hashed)
        except AccessError:
            return False
        return True

    def cookie_of(self, request: Request) -> str | None:
        """What our cookie says; None if there is none, or several that differ: one of them is not ours."""
        found = {
            value.strip()
            for header in request.headers.getlist("cookie")
            for name, _, value in (pair.partition("=") for pair in header.split(";"))
            if name.strip() == self.cookie_name
        }
        return found.pop() if len(found) == 1 else None

    async def _looked_up(self, via: Via, key: str) -> Caller:
        known = self._known.get((via, key))
        if known is not None and self._clock.monotonic_s() < known.until_s:
            return known.caller
        caller = await (self._by_token(key) if via == "token" else self._by_session(key))
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[via, key] = _Known(caller=caller, until_s=self._clock.monotonic_s() + _TRUSTED_S)
        return caller

    async def _by_token(self, key: str) -> Caller:
        if (user := self._own_tokens.get(key)) is not None:
            return Caller(user=user, via="token", hashed=key)
        token = await self._good_token(key)
        return Caller(user=token.user, via="token", token_id=token.id, hashed=key)

    async def _good_token(self, key: str) -> StoredToken:
        now = self._clock.unix_s()
        token = await self._store.token_of(key)
        if token is None or not is_same(token.hashed, key) or not is_good(token, now=now):
            raise AccessError(
                "The token is not known, was revoked, or has expired",
                allowed="a token that is good",
                to_do="Make a new one with endstop tokens create",
            )
        if token.used_at is None or now - token.used_at > _COARSE_S:
            await self._store.token_used(token.id, at=now)
        return token

    async def _by_session(self, key: str) -> Caller:
        session = await self._store.session_of(key)
        if session is None or not is_same(session.hashed, key) or not self._holds(session):
            raise _nobody()
        return Caller(user=session.user, via="cookie", token_id=session.token_id, hashed=key)

    def _holds(self, session: StoredSession) -> bool:
        is_of_link = session.token_id is None
        is_of_owner = self.owner is not None and session.user == self.owner
        return self._clock.unix_s() < session.expires_at and (is_of_owner or not is_of_link)

    # ── coming in ─────────────────────────────────────────────────────────────────────────────────────────

    def one_time_link(self, port: int, *, host: str = "127.0.0.1") -> str:
        """A link that lets whoever opens it first come in as the owner, once."""
        if self.owner is None:
            raise AccessError(
                "There is no link to a server that others can reach", to_do="Sign in with a token"
            )
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={self._links.new()}"

    def program_token(self, user: str | None = None) -> str:
        """A token for programs, of the owner unless said otherwise, good while this server runs."""
        secret = new_secret()
        whose = user or self.owner
        if whose is None:
            raise AccessError("A server that others can reach has no owner", to_do="Name a user")
        self._own_tokens[hashed(secret)] = whose
        return secret

    async def redeem_link(self, secret: str, *, cookie: str | None = None) -> SignedIn | None:
        """What a link turns into; None if it was used, has expired, or never was.

        ``cookie``: that of the browser, which may be the one that has just used it.
        """
        if self.owner is None:
            return None
        if not self._links.take(secret):
            return self._links.again(secret, cookie)
        signed_in = await self._signed_in(self.owner, expires_at=self._clock.unix_s() + SESSION_S)
        self._links.used(secret, signed_in)
        return signed_in

    async def sign_in(self, secret: str) -> SignedIn:
        """What a token turns into. It ends when the token does."""
        if not is_secret(secret):
            raise AccessError(
                "That is not a token", allowed="es_ and 43 characters", to_do="Copy the whole token"
            )
        token = await self._good_token(hashed(secret))
        expires_at = min(token.expires_at, self._clock.unix_s() + SESSION_S)
        return await self._signed_in(token.user, expires_at=expires_at, token_id=token.id)

    async def sign_out(self, caller: Caller) -> None:
        """End the session of a browser. Whoever came by a token has none."""
        if caller.via == "cookie":
            self._known.pop((caller.via, caller.hashed), None)
            await self._store.end_session(caller.hashed)

    async def _signed_in(self, user: str, *, expires_at: float, token_id: str | None = None) -> SignedIn:
        made = SignedIn(user=user, cookie=new_secret(), key=new_secret())
        kept = hashed_together(made.cookie, made.key)
        session = StoredSession(hashed=kept, user=user, token_id=token_id, expires_at=expires_at)
        await self._store.open_session(session, at=self._clock.unix_s())
        return made

    # ── the cookie ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def cookie_name(self) -> str:
        """With the port: browsers share cookies between the ports of a machine, and two servers may run."""
        if self.hosts.is_https:
            return "__Host-endstop"
        return "endstop" if self.hosts.port is None else f"endstop_{self.hosts.port}"

    def set_cookie(self, value: str) -> str:
        """The header that has a browser keep it; an empty value has it forget it."""
        age = int(SESSION_S) if value else 0
        secure = "; Secure" if self.hosts.is_https else ""
        return f"{self.cookie_name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"

    # ── how much ──────────────────────────────────────────────────────────────────────────────────────────

    async def admit_query(self, caller: Caller) -> AbstractContextManager[None]:
        """Let a user start one more run, or raise ``TooManyError``.

        Start it within what this returns, so that it is counted until the store knows of it:
        ``with await access.admit_query(caller): run_id = await runner.start(…)``.
        """
        if self.is_closing:
            raise TooManyError(
                "The server is ending", to_do="Ask again when it has been started again", retry_after_s=10.0
            )
        found = await self._store.runs(
            user=caller.user, phases=(RunPhase.RUNNING,), most=self._limits.at_once + 100
        )
        now = self._clock.unix_s()
        running = sum(is_worked_on(run, now=now) for run in found)
        started = self._rate.admit(caller.user, running=running, now_s=self._clock.monotonic_s())
        return self._starting(caller.user, started)

    @contextmanager
    def _starting(self, user: str, started: float) -> Generator[None]:
        try:
            yield
        finally:
            self._rate.begun(user, started)


async def caller(request: Request) -> Caller:
    """Who calls; the request is refused if nobody knows."""
    context: Context = request.app.state.context
    found = await context.access.caller_of(request)
    request.state.user = found.user
    request.state.caller = found  # for the gate, which cuts a stream whose caller may come in no more
    return found


CallerHere = Annotated[Caller, Depends(caller)]
"""For the parameter of every route under ``/api``: ``caller: CallerHere``."""


def install_access(app: FastAPI) -> None:
    """Have every request looked at before it reaches a route."""
    from endstop.server.gate import Gate

    app.add_middleware(Gate)


def _bearer(given: list[str]) -> str:
    """The hash of the token in an ``Authorization`` header."""
    scheme, _, secret = given[0].partition(" ")
    secret = secret.strip()
    if len(given) > 1 or scheme.lower() != "bearer" or not is_secret(secret):
        raise AccessError(
            "The Authorization header cannot be read",
            allowed="one header, Authorization: Bearer es_…",
            to_do="Make a token with endstop tokens create",
        )
    return hashed(secret)


def _nobody() -> AccessError:
    return AccessError(
        "Nobody knows who you are",
        allowed="the link that endstop serve printed, a token, or having signed in",
        to_do="Open that link, sign in, or send Authorization: Bearer and a token of endstop tokens create",
    )
