"""Who may come in: users, tokens and sessions, the same in every store."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from store_facts import OpenStore

from endstop.errors import UnknownTokenError, UnknownUserError
from endstop.ports import MOST_SESSIONS, StoredSession, StoredToken, StoredUser, WholeStore
from endstop.store import open_store
from endstop.store.schema_names import NEWEST_VERSION

ANA = StoredUser(name="ana", added_at=1.0)


def token(name: str = "laptop", user: str = "ana", *, created_at: float = 10.0) -> StoredToken:
    return StoredToken(
        id=f"token_{name}",
        user=user,
        name=name,
        hashed=f"hash of {name}",
        created_at=created_at,
        expires_at=1_000.0,
    )


def session(
    name: str = "browser", *, token_id: str | None = None, expires_at: float = 500.0
) -> StoredSession:
    return StoredSession(hashed=f"hash of {name}", user="ana", token_id=token_id, expires_at=expires_at)


@pytest.fixture
async def access(open_another: OpenStore) -> WholeStore:
    """A store that knows ana and bob."""
    store = await open_another()
    await store.add_user(ANA)
    await store.add_user(StoredUser(name="bob", added_at=2.0))
    return store


async def test_users_are_listed_by_name_and_added_once(access: WholeStore, open_another: OpenStore) -> None:
    assert await access.add_user(StoredUser(name="Zoë \x00", added_at=3.0))
    assert not await access.add_user(replace(ANA, added_at=9.0))
    other = await open_another()
    assert [user.name for user in await other.users()] == ["Zoë \x00", "ana", "bob"]
    assert (await other.users())[1] == ANA


async def test_a_token_is_found_by_its_hash_and_comes_back_as_it_was(
    access: WholeStore, open_another: OpenStore
) -> None:
    kept = replace(token("work \x00 pc"), revoked_at=None, used_at=12.5)
    await access.add_token(kept)
    other = await open_another()
    assert await other.token_of(kept.hashed) == kept
    assert await other.token_of("hash of nothing") is None
    assert await other.token_of("") is None


async def test_adding_a_token_twice_keeps_the_first(access: WholeStore) -> None:
    await access.add_token(token())
    await access.add_token(replace(token(), name="another"))
    assert await access.tokens() == [token()]


async def test_a_token_needs_a_user(access: WholeStore) -> None:
    with pytest.raises(UnknownUserError, match="endstop users add eve"):
        await access.add_token(token(user="eve"))
    assert await access.tokens() == []


async def test_tokens_are_listed_newest_first_of_one_user_or_of_all(access: WholeStore) -> None:
    for number, user in enumerate(("ana", "bob", "ana")):
        await access.add_token(token(f"t{number}", user, created_at=float(number)))
    assert [each.name for each in await access.tokens()] == ["t2", "t1", "t0"]
    assert [each.name for each in await access.tokens(user="ana")] == ["t2", "t0"]
    assert await access.tokens(user="nobody") == []


async def test_a_revoked_token_stays_revoked_as_of_the_first_time(access: WholeStore) -> None:
    await access.add_token(token())
    assert (await access.revoke_token("token_laptop", at=20.0)).revoked_at == 20.0
    assert (await access.revoke_token("token_laptop", at=30.0)).revoked_at == 20.0
    found = await access.token_of("hash of laptop")
    assert found == replace(token(), revoked_at=20.0)
    with pytest.raises(UnknownTokenError, match="endstop tokens list"):
        await access.revoke_token("token_of_nobody", at=20.0)


async def test_the_last_use_of_a_token_is_kept(access: WholeStore) -> None:
    await access.add_token(token())
    await access.token_used("token_laptop", at=50.0)
    await access.token_used("token_of_nobody", at=50.0)
    assert (await access.tokens())[0].used_at == 50.0


async def test_a_session_is_there_until_it_is_ended(access: WholeStore, open_another: OpenStore) -> None:
    await access.open_session(session(), at=100.0)
    other = await open_another()
    assert await other.session_of("hash of browser") == session()
    await other.end_session("hash of browser")
    await other.end_session("hash of browser")
    assert await access.session_of("hash of browser") is None


async def test_opening_a_session_forgets_those_that_have_expired(access: WholeStore) -> None:
    await access.open_session(session("old", expires_at=200.0), at=100.0)
    await access.open_session(session("later", expires_at=201.0), at=100.0)
    await access.open_session(session("new"), at=200.0)
    assert await access.session_of("hash of old") is None
    assert await access.session_of("hash of later") is not None


async def test_one_user_has_only_so_many_sessions_and_the_newest_is_among_them(access: WholeStore) -> None:
    await access.open_session(replace(session("bobs"), user="bob"), at=0.0)
    for number in range(MOST_SESSIONS + 5):
        await access.open_session(session(f"b{number}", expires_at=500.0 - number % 2), at=0.0)
        assert await access.session_of(f"hash of b{number}") is not None
    kept = [await access.session_of(f"hash of b{number}") for number in range(MOST_SESSIONS + 5)]
    assert sum(each is not None for each in kept) == MOST_SESSIONS
    assert await access.session_of("hash of bobs") is not None


async def test_a_session_ends_with_the_token_it_rests_on(access: WholeStore) -> None:
    await access.add_token(token())
    await access.open_session(session("by token", token_id="token_laptop"), at=100.0)
    await access.open_session(session("by link"), at=100.0)
    assert (await access.session_of("hash of by token")) is not None
    await access.revoke_token("token_laptop", at=150.0)
    assert await access.session_of("hash of by token") is None
    assert await access.session_of("hash of by link") is not None
    await access.open_session(session("too late", token_id="token_laptop"), at=160.0)
    assert await access.session_of("hash of too late") is None


async def test_a_user_who_is_removed_takes_tokens_and_sessions_along(access: WholeStore) -> None:
    await access.add_token(token())
    await access.add_token(token("bobs", "bob"))
    await access.open_session(session(), at=100.0)
    await access.remove_user("ana")
    assert [user.name for user in await access.users()] == ["bob"]
    assert [each.name for each in await access.tokens()] == ["bobs"]
    assert await access.session_of("hash of browser") is None
    with pytest.raises(UnknownUserError):
        await access.remove_user("ana")


async def test_a_database_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    await (await open_store(f"sqlite:///{file}")).close()
    with sqlite3.connect(file) as older:
        for table in ("users", "tokens", "sessions"):
            older.execute(f"DROP TABLE endstop_{table}")
        older.execute("DROP INDEX endstop_runs_by_user_and_phase")
        older.execute("UPDATE endstop_version SET version_num = '0001'")
    older.close()
    store = await open_store(f"sqlite:///{file}")
    assert await store.add_user(ANA)
    await store.close()
    with sqlite3.connect(file) as now:
        assert now.execute("SELECT version_num FROM endstop_version").fetchone() == (NEWEST_VERSION,)
    now.close()
