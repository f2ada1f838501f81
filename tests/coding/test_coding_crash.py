"""Sessions killed with SIGKILL at random moments, in every phase, and gone on with (H1, H5, G8)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cast_words import Session, git, make_repository, users_own
from crashing_sessions import LATER, LONG

from endstop.events.audit import audit
from endstop.events.codec import read_record
from endstop.events.coding import CODING_FACTS, RoundEnded, SessionConcluded, SimplifyingEnded
from endstop.kernel.observation import CallStatus, RunEnded, ToolCalled, ToolFinished
from endstop.testing import MemoryStore

KILLS = int(os.environ.get("ENDSTOP_KILLS", "4"))
"""On each database. ``make crash`` has many more."""

LONGEST_S = 90 + KILLS * 3.0

TITLES = [f"Add double (round {number})" for number in (1, 2, 3)]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'runs.db'}"
    else:
        yield request.getfixturevalue("postgres_url")


def crashed(url: str, folder: Path, seed: int) -> dict[str, Any]:
    """Have sessions killed and gone on with; what their parent saw."""
    script = Path(__file__).with_name("crashing_sessions.py")
    done = subprocess.run(
        [sys.executable, str(script), url, str(folder), str(KILLS), str(seed)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},  # for what all tests share
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    seen = json.loads(done.stdout)
    assert all(session["statuses"][-1] == 0 for session in seen["sessions"]), (seen, done.stderr[-4_000:])
    return seen


@pytest.mark.timeout(LONGEST_S + 10)
@pytest.mark.guarantee("H1", "H5", "A14", "G7", "G8")
def test_a_session_killed_again_and_again_loses_nothing_and_doubles_nothing(url: str, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    before = users_own(repository)
    seen = crashed(url, tmp_path, seed=7)

    assert seen["killed"] == KILLS
    for session in seen["sessions"]:
        assert session["is_prefix"], "a fact that was recorded is gone or was changed"
        require_whole(session["run"], tmp_path)
    assert users_own(repository) == before
    assert git(repository, "fsck", "--no-dangling") == ""
    assert Session(tmp_path, MemoryStore()).left_over() == []
    if KILLS >= 100:
        met = set(seen["killed_after"]) & set(CODING_FACTS)
        assert met >= set(CODING_FACTS) - {"coding.concluded"}, "it was not killed in every phase"


def require_whole(run_id: str, folder: Path) -> None:
    """The session came to what it would have come to without a single kill."""
    facts = read_record((folder / f"{run_id}.jsonl").read_text(encoding="utf-8").splitlines()).require()
    payloads = [fact.payload for fact in facts]
    checked = audit(facts)
    assert checked.holds, str(checked)
    assert sum(isinstance(payload, RunEnded) for payload in payloads) == 1
    assert [one.kind for one in payloads if isinstance(one, SessionConcluded)] == ["succeeded"]

    notes = Counter(
        (
            fact.type,
            *(getattr(fact.payload, key, None) for key in ("cycle", "attempt", "round", "number", "after")),
        )
        for fact in facts
        if fact.type in CODING_FACTS
    )
    assert max(notes.values()) == 1, "a step was done twice"

    repository = folder / "repository"
    log = git(repository, "log", "--reverse", "--format=%H %s", f"main..endstop/{run_id}").splitlines()
    assert [line.split(" ", 1)[1] for line in log] == TITLES, "one commit per round, and no other"
    rounds = [one for one in payloads if isinstance(one, RoundEnded)]
    assert [line.split(" ", 1)[0] for line in log] == [one.commit for one in rounds]
    assert [one.is_kept for one in payloads if isinstance(one, SimplifyingEnded)] == [False]
    shown = {
        name: git(repository, "show", f"endstop/{run_id}:{name}") for name in ("numbers_.py", "later.py")
    }
    assert shown == {"numbers_.py": LONG.strip(), "later.py": LATER.strip()}
    names = git(repository, "ls-tree", "--name-only", f"endstop/{run_id}").splitlines()
    assert names == ["later.py", "numbers_.py", "one.py", "pytest.ini", "test_numbers.py", "test_one.py"]

    called = [(one.scope, one.call) for one in payloads if isinstance(one, ToolCalled)]
    finished = [one for one in payloads if isinstance(one, ToolFinished)]
    assert sorted((one.scope, one.call) for one in finished) == sorted(called)
    assert {one.status for one in finished} <= {CallStatus.EXECUTED, CallStatus.INTERRUPTED}
