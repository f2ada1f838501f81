"""A run with effects, killed with SIGKILL at random moments, hundreds of times, and resumed (H5, A9)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from endstop.events.audit import audit
from endstop.events.codec import read_record
from endstop.events.facts import Fact, RunTaken
from endstop.kernel.observation import (
    CallStatus,
    Observation,
    RunEnded,
    ToolCalled,
    ToolFinished,
    TurnStarted,
)

KILLS = int(os.environ.get("ENDSTOP_KILLS", "40"))
"""On each database. ``make crash`` has many more."""

LONGEST_S = 60 + KILLS * 0.4


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'runs.db'}"
    else:
        yield request.getfixturevalue("postgres_url")


def crashed(url: str, folder: Path) -> tuple[dict[str, object], tuple[Fact, ...], list[str]]:
    """Have the run killed and resumed; what the parent saw, the record, and the log of its effects."""
    script = Path(__file__).with_name("crashing_runs.py")
    done = subprocess.run(
        [sys.executable, str(script), url, str(folder), str(KILLS), "7"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},  # for what all tests share
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    lines = (folder / "record.jsonl").read_text(encoding="utf-8").splitlines()
    effects = (folder / "effects.log").read_text(encoding="utf-8").splitlines()
    return json.loads(done.stdout), read_record(lines).require(), effects


@pytest.mark.timeout(LONGEST_S + 10)
@pytest.mark.guarantee("H1", "H5", "A9", "A14", "D9")
def test_a_run_killed_again_and_again_loses_nothing_doubles_nothing_and_repeats_no_effect(
    url: str, tmp_path: Path
) -> None:
    seen, facts, effects = crashed(url, tmp_path)
    payloads = [fact.payload for fact in facts]

    assert (seen["killed"], seen["others"], seen["finish_status"]) == (KILLS, [], 0)
    assert seen["is_prefix"], "a fact that was recorded is gone or was changed"
    checked = audit(facts)
    assert checked.holds, str(checked)
    assert sum(isinstance(payload, RunEnded) for payload in payloads) == 1
    assert sum(isinstance(payload, RunTaken) for payload in payloads) > KILLS / 2

    called = [payload for payload in payloads if isinstance(payload, ToolCalled)]
    finished = {payload.call: payload for payload in payloads if isinstance(payload, ToolFinished)}
    intended = Counter(json.loads(payload.arguments)["number"] for payload in called)
    started = Counter(int(line.split()[1]) for line in effects if line.startswith("start"))
    ended = Counter(int(line.split()[1]) for line in effects if line.startswith("end"))
    assert max(started.values()) == 1, "an effect was repeated"
    assert set(started) <= set(intended), "an effect stands in no record"
    for payload in called:
        number = json.loads(payload.arguments)["number"]
        status = finished[payload.call].status
        assert status in (CallStatus.EXECUTED, CallStatus.INTERRUPTED, CallStatus.CANCELLED)
        if status is CallStatus.EXECUTED:
            assert ended[number] == 1
        if started[number] and not ended[number]:
            assert status is CallStatus.INTERRUPTED, "cut off in the middle, and not reported so"
    assert any(each.status is CallStatus.INTERRUPTED for each in finished.values())

    times = [payload.at_s for payload in payloads if isinstance(payload, Observation)]
    assert times == sorted(times)
    assert 0 < times[-1] <= float(str(seen["wall_s"])), "time in which no process lived was charged"
    turns = [payload.turn for payload in payloads if isinstance(payload, TurnStarted)]
    assert turns == list(range(len(turns)))
