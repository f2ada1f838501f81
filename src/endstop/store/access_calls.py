"""The ``AccessStore`` port over a database: the part of ``SqlStore`` that knows who may come in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from endstop.ports import StoredSession, StoredToken, StoredUser
from endstop.store import access
from endstop.store.lane import Lane
from endstop.store.session import Session
from endstop.store.writer import WriteTask


class AccessCalls:
    """Each call becomes a job for a thread that writes or reads."""

    _writer: Lane[WriteTask]

    async def add_user(self, user: StoredUser) -> bool:
        return await self._writer.do(partial(access.write_user, user=user))

    async def users(self) -> list[StoredUser]:
        return await self._read(access.read_users)

    async def remove_user(self, name: str) -> None:
        await self._writer.do(partial(access.erase_user, name=name))

    async def add_token(self, token: StoredToken) -> None:
        await self._writer.do(partial(access.write_token, token=token))

    async def tokens(self, *, user: str | None = None) -> list[StoredToken]:
        return await self._read(partial(access.read_tokens, user=user))

    async def token_of(self, hashed: str) -> StoredToken | None:
        return await self._read(partial(access.read_token, hashed=hashed))

    async def revoke_token(self, token_id: str, *, at: float) -> StoredToken:
        return await self._writer.do(partial(access.write_revoked, token_id=token_id, at=at))

    async def token_used(self, token_id: str, *, at: float) -> None:
        await self._writer.do(partial(access.write_used, token_id=token_id, at=at))

    async def open_session(self, session: StoredSession, *, at: float) -> None:
        await self._writer.do(partial(access.write_session, opened=session, at=at))

    async def session_of(self, hashed: str) -> StoredSession | None:
        return await self._read(partial(access.read_session, hashed=hashed))

    async def end_session(self, hashed: str) -> None:
        await self._writer.do(partial(access.erase_session, hashed=hashed))

    async def _read(self, task: Callable[[Session], Any]) -> Any: ...
