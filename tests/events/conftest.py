"""Records to read, and the golden files that today's code is held against."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from golden_run import golden_run
from recorded_runs import SCENARIOS, Recorded, Stage, play

from endstop.events.codec import encode

GOLDEN = Path(__file__).parent.parent / "golden"

WRITES_GOLDEN = os.environ.get("ENDSTOP_WRITE_GOLDEN") == "1"
"""``ENDSTOP_WRITE_GOLDEN=1 pytest tests/events`` writes the golden files anew, and skips what compares them.

Look at the difference before you keep it. ``fact_types.json`` and ``chunks.json`` are promises to readers:
names and fields may be added, never changed. ``record-v1.jsonl`` stands for the records people have: once a
version was released it is never written anew; a new version of the facts gets a file of its own beside it.
"""


@pytest.fixture(params=SCENARIOS)
def run(request: pytest.FixtureRequest) -> Recorded:
    """The record of each scenario in turn."""
    return play(request.param)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def require_golden() -> Callable[[str, object], None]:
    """Compares a JSON value with a golden file."""

    def compare(name: str, value: object) -> None:
        path = GOLDEN / name
        if WRITES_GOLDEN:
            path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            pytest.skip(f"{name} was written anew")
        assert value == json.loads(path.read_text(encoding="utf-8"))

    return compare


@pytest.fixture
def golden_lines() -> list[str]:
    """The lines of a whole run that was recorded when version 1 of the facts was new."""
    path = GOLDEN / "record-v1.jsonl"
    if WRITES_GOLDEN:
        lines = [encode(fact) for fact in golden_run(Stage()).facts]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        pytest.skip(f"{path.name} was written anew")
    with path.open(encoding="utf-8") as file:
        return list(file)
