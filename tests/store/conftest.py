"""Stores on both databases: what holds for one must hold for the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from store_facts import OpenStore

from endstop.ports import Store
from endstop.store import open_store


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that nobody has used yet."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'runs.db'}"


@pytest.fixture
async def open_another(database_url: str) -> AsyncIterator[OpenStore]:
    """Opens a further store on the same database, as another process would."""
    opened: list[Store] = []

    async def open_one() -> Store:
        store = await open_store(database_url, busy_timeout_s=2.0)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_another: OpenStore) -> Store:
    return await open_another()
