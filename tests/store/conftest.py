"""Stores on both databases: what holds for one must hold for the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from store_facts import OpenStore

from endstop.ports import Store, WholeStore
from endstop.store import open_store
from endstop.testing import MemoryStore


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test of the contract is held against all stores; one that needs a database, against those."""
    if "kind" in metafunc.fixturenames:
        databases = ["sqlite", "postgresql"]
        needs_one = "database_url" in metafunc.fixturenames
        metafunc.parametrize("kind", databases if needs_one else [*databases, "memory"])


@pytest.fixture
def database_url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that nobody has used yet."""
    return _url(kind, request, tmp_path)


def _url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'runs.db'}"


@pytest.fixture
async def open_another(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenStore]:
    """Opens a further store on the same database (or memory), as another process would."""
    in_memory = MemoryStore() if kind == "memory" else None
    url = "" if in_memory is not None else _url(kind, request, tmp_path)
    opened: list[WholeStore] = []

    async def open_one() -> WholeStore:
        store = await open_store(url, busy_timeout_s=2.0) if in_memory is None else in_memory.another()
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_another: OpenStore) -> Store:
    return await open_another()
