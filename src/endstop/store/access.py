"""Users, tokens and sessions: written and read. Only hashes of secrets come this far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from endstop.errors import UnknownTokenError, UnknownUserError
from endstop.ports import MOST_SESSIONS, StoredSession, StoredToken, StoredUser
from endstop.store import schema_names as names
from endstop.store.reading import marks
from endstop.store.session import Session
from endstop.store.texts import restored, restored_or_none, stored, stored_or_none

_TOKEN_COLUMNS = (
    *("id", "user_name", "name", "hashed", "created_at", "expires_at"),
    *("revoked_at", "used_at"),
)
_TOKENS = f"SELECT {', '.join(_TOKEN_COLUMNS)} FROM {names.TOKENS}"


def write_user(session: Session, user: StoredUser) -> bool:
    sql = f"INSERT INTO {names.USERS} (name, added_at) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
    return session.changed(sql, (stored(user.name), user.added_at)) > 0


def read_users(session: Session) -> list[StoredUser]:
    rows = session.rows(f"SELECT name, added_at FROM {names.USERS}")
    found = [StoredUser(name=restored(name), added_at=added_at) for name, added_at in rows]
    return sorted(found, key=lambda user: user.name)  # databases differ in how they order letters


def erase_user(session: Session, name: str) -> None:
    _require_user(session, name)
    for table, column in ((names.SESSIONS, "user_name"), (names.TOKENS, "user_name"), (names.USERS, "name")):
        session.run(f"DELETE FROM {table} WHERE {column} = ?", (stored(name),))


def write_token(session: Session, token: StoredToken) -> None:
    """Twice does no harm: it is known by its id."""
    _require_user(session, token.user)
    row = (
        stored(token.id),
        stored(token.user),
        stored(token.name),
        stored(token.hashed),
        token.created_at,
        token.expires_at,
        token.revoked_at,
        token.used_at,
    )
    session.run(
        f"INSERT INTO {names.TOKENS} ({', '.join(_TOKEN_COLUMNS)}) VALUES ({marks(row)})"
        " ON CONFLICT (id) DO NOTHING",
        row,
    )


def read_tokens(session: Session, *, user: str | None) -> list[StoredToken]:
    where, values = ("", ()) if user is None else (" WHERE user_name = ?", (stored(user),))
    return [
        _token(row) for row in session.rows(f"{_TOKENS}{where} ORDER BY created_at DESC, id DESC", values)
    ]


def read_token(session: Session, hashed: str) -> StoredToken | None:
    rows = session.rows(f"{_TOKENS} WHERE hashed = ?", (stored(hashed),))
    return _token(rows[0]) if rows else None


def write_revoked(session: Session, token_id: str, *, at: float) -> StoredToken:
    if not session.rows(f"{_TOKENS} WHERE id = ?", (stored(token_id),)):
        raise UnknownTokenError(
            f"There is no token {token_id!r}", to_do="List the tokens there are with endstop tokens list"
        )
    sql = f"UPDATE {names.TOKENS} SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
    session.run(sql, (at, stored(token_id)))
    session.run(f"DELETE FROM {names.SESSIONS} WHERE token_id = ?", (stored(token_id),))
    return _token(session.rows(f"{_TOKENS} WHERE id = ?", (stored(token_id),))[0])


def write_used(session: Session, token_id: str, *, at: float) -> None:
    session.run(f"UPDATE {names.TOKENS} SET used_at = ? WHERE id = ?", (at, stored(token_id)))


def write_session(session: Session, opened: StoredSession, *, at: float) -> None:
    session.run(f"DELETE FROM {names.SESSIONS} WHERE expires_at <= ?", (at,))
    user = stored(opened.user)
    session.run(
        f"DELETE FROM {names.SESSIONS} WHERE user_name = ? AND hashed NOT IN (SELECT hashed FROM"
        f" {names.SESSIONS} WHERE user_name = ? ORDER BY expires_at DESC, hashed LIMIT ?)",
        (user, user, MOST_SESSIONS - 1),
    )
    session.run(
        f"INSERT INTO {names.SESSIONS} (hashed, user_name, token_id, expires_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (hashed) DO NOTHING",
        (stored(opened.hashed), user, stored_or_none(opened.token_id), opened.expires_at),
    )


def read_session(session: Session, hashed: str) -> StoredSession | None:
    """One that rests on a token is there only while the token is: revoking it may come at the same time."""
    rows = session.rows(
        f"SELECT hashed, user_name, token_id, expires_at FROM {names.SESSIONS} AS kept WHERE hashed = ?"
        f" AND (token_id IS NULL OR EXISTS (SELECT 1 FROM {names.TOKENS} AS token"
        " WHERE token.id = kept.token_id AND token.revoked_at IS NULL))",
        (stored(hashed),),
    )
    if not rows:
        return None
    key, user, token_id, expires_at = rows[0]
    return StoredSession(
        hashed=restored(key), user=restored(user), token_id=restored_or_none(token_id), expires_at=expires_at
    )


def erase_session(session: Session, hashed: str) -> None:
    session.run(f"DELETE FROM {names.SESSIONS} WHERE hashed = ?", (stored(hashed),))


def _require_user(session: Session, name: str) -> None:
    if not session.rows(f"SELECT 1 FROM {names.USERS} WHERE name = ?", (stored(name),)):
        raise UnknownUserError(
            f"There is no user {name!r}", to_do=f"Add one first, with endstop users add {name}"
        )


def _token(row: Sequence[Any]) -> StoredToken:
    token_id, user, name, hashed, created_at, expires_at, revoked_at, used_at = row
    return StoredToken(
        id=restored(token_id),
        user=restored(user),
        name=restored(name),
        hashed=restored(hashed),
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
        used_at=used_at,
    )
