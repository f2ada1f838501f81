"""What several tests of the coding room stand on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from endstop.ports import Store
from endstop.store import open_store


@pytest.fixture
def git_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a git user in it, so that no test depends on whose machine it runs on."""
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text(
        '[user]\n\tname = Ann\n\temail = ann@example.org\n[protocol "file"]\n\tallow = always\n'
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store on a real file."""
    opened = await open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    yield opened
    await opened.close()
