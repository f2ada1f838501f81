"""A process that appends is killed again and again. What was acknowledged is there, once, without gaps."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_facts import OpenStore

CHILD = Path(__file__).with_name("appending_child.py")
KILLS = 30


@pytest.mark.guarantee("A9", "H1", "H4", "H5")
@pytest.mark.timeout(120)
async def test_a_killed_process_loses_and_doubles_nothing(database_url: str, open_another: OpenStore) -> None:
    chance = random.Random(5)
    store = await open_another()
    acknowledged = 0
    command = [sys.executable, str(CHILD), database_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        for _ in range(KILLS):
            acknowledged = max(acknowledged, killed_after(chance.uniform(0.0, 0.03), parent))
            run = await store.run("run-1")
            assert run.facts > acknowledged
            assert (run.facts - 1) % 4 == 0, "half of an append is there"
    record = await store.record("run-1")
    assert [fact.seq for fact in record] == list(range(len(record)))
    run = await store.run("run-1")
    assert (run.facts, run.turns) == (len(record), (len(record) - 1) // 4)
    assert acknowledged > KILLS


def killed_after(seconds: float, parent: subprocess.Popen[bytes]) -> int:
    """Let a process append for a while, then kill it: the last fact that it knew to be kept."""
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write(b"go\n")
    parent.stdin.flush()
    word, number = parent.stdout.readline().split()
    assert word == b"ready"
    time.sleep(seconds)
    os.kill(int(number), signal.SIGKILL)
    lines = list(iter(parent.stdout.readline, b"gone\n"))
    return max(map(int, lines), default=0)
