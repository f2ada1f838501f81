"""A store on a real file, and runners on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from endstop.ports import Store
from endstop.store import open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    yield opened
    await opened.close()
