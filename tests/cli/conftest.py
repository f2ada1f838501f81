"""The program on a home folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_program import Done, Endstop, environment, in_process_of_its_own

from endstop.app.oracle_config import reload_oracle_config
from endstop.cli import main


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def endstop(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Endstop:
    """Runs the program in this process, on ``home``: ``endstop("runs", "--all")``."""
    return _program(home, monkeypatch, capsys)


@pytest.fixture(scope="session")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with four finished runs, the last of them ``repeats_call``. Only to be read."""
    home = tmp_path_factory.mktemp("gallery") / "home"
    done = in_process_of_its_own(home, "demo", "says_odd_text", "recovers", "fails_access", "repeats_call")
    assert done.code == 0, done
    return home


@pytest.fixture
def in_gallery(gallery: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Endstop:
    """Runs the program in this process, on the gallery."""
    return _program(gallery, monkeypatch, capsys)


def _program(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Endstop:
    def run(*arguments: str, **env: str) -> Done:
        with monkeypatch.context() as patched:
            for name, value in environment(home, **env).items():
                patched.setenv(name, value)
            reload_oracle_config()
            capsys.readouterr()
            with pytest.raises(SystemExit) as left:
                main(arguments)
            captured = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Done(code=left.value.code, out=captured.out, err=captured.err)

    return run
