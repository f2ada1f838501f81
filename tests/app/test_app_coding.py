"""What a session would begin with, looked at before anything is spent."""

from __future__ import annotations

from pathlib import Path

from endstop.app import Config
from endstop.app.coding import Proposed, propose_session
from endstop.coding.examples import make_sample_repository
from endstop.coding.repository import open_repository
from endstop.coding.worktree import Worktree
from endstop.events.coding import SessionOpened


async def proposed(repository: Path, home: Path) -> Proposed:
    config = Config(home=home, database_url="sqlite:///:memory:")
    return await propose_session(repository, "Better.", model="example:accepted", config=config)


def recorded_concerns(session: Proposed) -> tuple[str, ...]:
    """What the record will say that whoever begins was told."""
    conducting = session.agent.conducting
    assert conducting is not None
    (opened,) = conducting.opening("run_2", session.policy.budget())
    assert isinstance(opened, SessionOpened)
    return opened.concerns


async def test_nothing_is_told_of_a_repository_with_nothing_unusual(tmp_path: Path) -> None:
    repository = await make_sample_repository(tmp_path / "repository")
    session = await proposed(repository, tmp_path / "home")
    assert (session.concerns, session.left_over, session.told) == ((), None, ())


async def test_that_sessions_are_left_over_is_told_apart_from_what_has_to_be_accepted(tmp_path: Path) -> None:
    repository = await make_sample_repository(tmp_path / "repository")
    opened = await open_repository(repository)
    await Worktree(repository=opened, session="run_1", path=tmp_path / "work", base=opened.head).ensure()
    session = await proposed(repository, tmp_path / "home")
    assert session.concerns == ()
    assert session.left_over is not None
    assert "1 earlier session is still open here (run_1)" in session.left_over
    (repository / "notes.txt").write_text("Mine.\n")
    session = await proposed(repository, tmp_path / "home")
    (unusual,) = session.concerns
    assert "1 file has a change that no commit holds" in unusual
    assert session.told == recorded_concerns(session) == (unusual, session.left_over)
