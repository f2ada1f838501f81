"""The examples run, and print what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {
    "guard_a_loop.py": ("no progress", "3 times in a row", "turn 1, call 1.1: search_docs"),
    "scopes.py": (
        "research: completed, used 3 turns, 4,050 tokens",
        "what is left: 14,050 tokens and 8 turns",
    ),
    "own_policy.py": ("half the money is gone and nothing was found", "turns: 5/30"),
    "run_an_agent.py": (
        "diligent: Logins use session cookies, and a session lasts a week.",
        "stuck: forced to complete: search_docs was called 3 times in a row",
        "turn 1, call t1_1: search_docs",
        "The audit holds.",
    ),
    "review_and_resume.py": (
        "The run is paused for review: Iteration limit reached (4/4).",
        "The run is completed, after 8 turns: It is about logging in.",
        "holds  replaying the record gives the same verdicts",
    ),
    "own_tool_and_model.py": (
        "timed_out: Timed out: no result within 0.2 s",
        "completed | Done: sent 19 characters to ann@example.com.",
        "1 letter sent, 2 tries, 3 turns",
        "The audit holds.",
    ),
    "replay_and_audit.py": ("Resumed with every counter as it stood: 3 turns, $0.006.", "holds"),
}


def run(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, timeout=30, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_listed_here() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_prints_what_it_promises(name: str) -> None:
    printed = run(ROOT / "examples" / name)
    for promised in EXAMPLES[name]:
        assert promised in printed
    assert "BROKEN" not in printed
