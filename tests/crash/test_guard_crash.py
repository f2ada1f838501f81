"""A guarded process is killed again and again, at moments it cannot choose. No recorded fact is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import endstop as es

CHILD = Path(__file__).with_name("guarded_child.py")
KILLS = 12


def complete_lines(path: Path) -> list[bytes]:
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


@pytest.mark.guarantee("A9", "A14", "H1", "H5")
@pytest.mark.timeout(120)
def test_a_process_killed_at_any_moment_goes_on_with_every_counter(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    chance = random.Random(20)
    kills, exit_code = 0, -1
    while exit_code != 0:
        known = complete_lines(record)
        with subprocess.Popen([sys.executable, str(CHILD), str(record)], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            if kills < KILLS:
                time.sleep(chance.uniform(0.0, 0.02))
                kills += child.poll() is None
                child.send_signal(signal.SIGKILL)
        assert complete_lines(record)[: len(known)] == known, "a recorded fact was lost or changed"
        exit_code = child.returncode
        assert exit_code in (0, -signal.SIGKILL)
    assert kills == KILLS

    facts = es.read_record(complete_lines(record)).require()
    assert [fact.type for fact in facts].count("run.ended") == 1
    guard = es.Guard.resume(facts)
    assert guard.usage.turns == 150
    assert guard.usage.tokens >= 150 * 750, "a turn that was cut off counts at what it had reserved"
    audited = es.audit(facts)
    assert audited.holds, str(audited)
