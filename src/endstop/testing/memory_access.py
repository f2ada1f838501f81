"""The ``AccessStore`` port in memory: the part of ``MemoryStore`` that knows who may come in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from endstop.errors import UnknownTokenError, UnknownUserError
from endstop.ports import MOST_SESSIONS, StoredSession, StoredToken, StoredUser


class AccessMemory:
    """What stores on the same memory share."""

    def __init__(self) -> None:
        self.users: dict[str, StoredUser] = {}
        self.tokens: dict[str, StoredToken] = {}
        self.sessions: dict[str, StoredSession] = {}


class MemoryAccess:
    """Users, tokens and sessions, with the same answers as the databases."""

    if TYPE_CHECKING:  # whoever has the memory says where it is

        @property
        def _access(self) -> AccessMemory: ...

    async def add_user(self, user: StoredUser) -> bool:
        return self._access.users.setdefault(user.name, user) is user

    async def users(self) -> list[StoredUser]:
        return sorted(self._access.users.values(), key=lambda user: user.name)

    async def remove_user(self, name: str) -> None:
        memory = self._access
        self._require_user(name)
        del memory.users[name]
        memory.tokens = {key: each for key, each in memory.tokens.items() if each.user != name}
        memory.sessions = {key: each for key, each in memory.sessions.items() if each.user != name}

    async def add_token(self, token: StoredToken) -> None:
        self._require_user(token.user)
        self._access.tokens.setdefault(token.id, token)

    async def tokens(self, *, user: str | None = None) -> list[StoredToken]:
        found = [each for each in self._access.tokens.values() if user is None or each.user == user]
        return sorted(found, key=lambda each: (each.created_at, each.id), reverse=True)

    async def token_of(self, hashed: str) -> StoredToken | None:
        return next((each for each in self._access.tokens.values() if each.hashed == hashed), None)

    async def revoke_token(self, token_id: str, *, at: float) -> StoredToken:
        memory = self._access
        token = memory.tokens.get(token_id)
        if token is None:
            raise UnknownTokenError(
                f"There is no token {token_id!r}", to_do="List the tokens there are with endstop tokens list"
            )
        if token.revoked_at is None:
            memory.tokens[token_id] = token = replace(token, revoked_at=at)
        memory.sessions = {key: each for key, each in memory.sessions.items() if each.token_id != token_id}
        return token

    async def token_used(self, token_id: str, *, at: float) -> None:
        if (token := self._access.tokens.get(token_id)) is not None:
            self._access.tokens[token_id] = replace(token, used_at=at)

    async def open_session(self, session: StoredSession, *, at: float) -> None:
        memory = self._access
        memory.sessions = {key: each for key, each in memory.sessions.items() if each.expires_at > at}
        theirs = [each for each in memory.sessions.values() if each.user == session.user]
        theirs.sort(key=lambda each: each.expires_at, reverse=True)
        for one_too_many in theirs[MOST_SESSIONS - 1 :]:
            del memory.sessions[one_too_many.hashed]
        memory.sessions.setdefault(session.hashed, session)

    async def session_of(self, hashed: str) -> StoredSession | None:
        session = self._access.sessions.get(hashed)
        if session is None or session.token_id is None:
            return session
        token = self._access.tokens.get(session.token_id)
        return session if token is not None and token.revoked_at is None else None

    async def end_session(self, hashed: str) -> None:
        self._access.sessions.pop(hashed, None)

    def _require_user(self, name: str) -> None:
        if name not in self._access.users:
            raise UnknownUserError(
                f"There is no user {name!r}", to_do=f"Add one first, with endstop users add {name}"
            )
