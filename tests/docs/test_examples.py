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
    "trees/t01_first_tree.py": (
        "├─ = condition is_asleep",
        "hour 8, asleep False\n   the tree says: Good morning!\n   success",
        "hour 8, asleep True\n   success",
    ),
    "trees/t02_actions_that_take_time.py": (
        "running: while it is wanted > 10 s at most > tap.fill",
        "no longer wanted\n   the tap is open\n   failure\n   the tap is closed",
        "too slow\n   the tap is open\n   failure\n   the tap is closed",
    ),
    "trees/t03_loops_and_bounds.py": (
        "At most 60 letters, 0 turns of a model.",
        "The tree 'broken' cannot be used (4 problems):",
        "broken.lua:4: The retry 'retry' needs attempts.",
        "could run 10,010,001 leaves",
    ),
    "trees/t04_a_leaf_of_your_own.py": (
        "grams: 160",
        "{'the first that fits/eggs/shop.pack': 'ValueError: they break'}",
        "Perhaps 'shop.pack' was meant.",
    ),
    "trees/t05_an_agent_with_your_tree.py": (
        "pleased: 3 turns, completed\n   Ponds have water, and therefore ducks.",
        "never pleased: 4 turns, forced to complete: Iteration limit reached (4/4).",
        "The audit holds.",
    ),
    "trees/t06_edit_the_oracle.py": (
        "3 turns, forced to complete: Another turn was asked for 3 times in a row",
        "2 turns, completed, with a warning: It asked for the same thing twice.",
        "It takes: int.",
        "the good one is still in use: True",
    ),
    "trees/t07_read_a_trace.py": (
        "strip_signal_from_response, accept_answer, end_turn\nturn 2: save_conversation, emit_sources",
        "├─ → sequence context_sufficient  [success]\n├─ → sequence partial_answer\n",
        "per run: turns ≤ 8, model calls ≤ 32, tool calls ≤ 32, tokens ≤ 100,000",
    ),
}


def run(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", str(path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_listed_here() -> None:
    folder = ROOT / "examples"
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_prints_what_it_promises(name: str) -> None:
    printed = run(ROOT / "examples" / name)
    for promised in EXAMPLES[name]:
        assert promised in printed
    assert "BROKEN" not in printed
