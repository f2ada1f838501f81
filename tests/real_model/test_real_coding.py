"""A coding session with a real model, far too small for it: whatever it does, it ends as promised."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from endstop.app import open_app
from endstop.app.coding import propose_session
from endstop.coding.policy import Policy
from endstop.coding.policy_rules import SessionRules, SpecifyRules
from endstop.events.coding import SpecificationGiven
from endstop.kernel.outcome import Abandoned, Completed, Stopped


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.guarantee("G1", "G6", "G7")
async def test_a_session_with_a_real_model_ends_in_one_of_the_five_ways_inside_its_budget(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path / "home"))
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "test_one.py").write_text("def test_one():\n    assert True\n")
    _git(repository, "init", "-q", "-b", "main")
    _git(repository, "add", "-A")
    _git(repository, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", "Begin")
    policy = Policy(
        session=SessionRules(minutes=1, model_calls=12, tokens=60_000), specify=SpecifyRules(turns=2)
    )
    proposed = await propose_session(
        repository,
        "Add a function that doubles a number.",
        model=f"local:{weights}",
        policy=policy,
        asks_user=False,
    )
    async with open_app() as app:
        done = await app.runner.run(proposed.agent, "Add a function that doubles a number.")
    assert isinstance(done.outcome, Abandoned | Stopped | Completed), done.outcome
    assert done.audit(), str(done.audit())
    assert 0 < done.usage.model_calls <= 12
    assert done.usage.tokens <= 60_000
    assert done.usage.seconds < 61
    assert any(isinstance(fact.payload, SpecificationGiven) for fact in done.facts) or isinstance(
        done.outcome, Stopped
    )
    assert _git(repository, "status", "--porcelain") == ""
    assert (repository / "test_one.py").read_text() == "def test_one():\n    assert True\n"
