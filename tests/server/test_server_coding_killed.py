"""Coding sessions of a server that was killed: another goes on with them, and nothing is lost or doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from coding_server import git

SERVER = Path(__file__).with_name("playground_server.py")


@contextmanager
def serving(home: Path) -> Generator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A server process with agents as Endstop makes them, and its owner."""
    process = subprocess.Popen(
        [sys.executable, str(SERVER), str(home)],
        env={**os.environ, "ENDSTOP_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url, token = process.stdout.readline().split()
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=20) as me:
            yield process, me
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def begun(me: httpx.Client, example: str) -> str:
    answer = me.post("/api/coding", json={"example": example})
    assert answer.status_code == 202, answer.text
    return answer.json()["run_id"]


def until(me: httpx.Client, run_id: str, is_so: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The session as soon as something is so."""
    ends_at = time.monotonic() + 150
    while not is_so(session := me.get(f"/api/coding/{run_id}").json()):
        assert time.monotonic() < ends_at, session
        time.sleep(0.02)
    return session


def answered(me: httpx.Client, run_id: str, answer: str) -> None:
    until(me, run_id, lambda session: session["run_phase"] == "AWAIT_USER")
    said = me.post(f"/api/runs/{run_id}/answer", json={"answer": answer})
    assert said.status_code == 202, said.text


@pytest.mark.guarantee("H5")
def test_a_session_that_waits_is_answered_at_another_server(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, me):
        run_id = begun(me, "vague")
        asked = until(me, run_id, lambda session: session["run_phase"] == "AWAIT_USER")
        process.send_signal(signal.SIGKILL)
    with serving(tmp_path) as (_, me):
        assert me.get(f"/api/coding/{run_id}").json() == asked
        answered(me, run_id, "Just nicer.")
        ended = until(me, run_id, lambda session: session["run_phase"] == "ENDED")
    assert ended["outcome"] == "abandoned"
    assert len(ended["attempts"]) == 3


@pytest.mark.thorough
@pytest.mark.guarantee("H5", "D10", "G8")
@pytest.mark.timeout(180)
def test_a_session_killed_in_the_middle_of_a_round_is_gone_on_with(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, me):
        run_id = begun(me, "accepted")
        for answer in ("Most hours first, please.", "yes"):
            answered(me, run_id, answer)
        until(me, run_id, lambda session: session["rounds"])
        process.send_signal(signal.SIGKILL)
    with serving(tmp_path) as (_, me):
        ended = until(me, run_id, lambda session: session["run_phase"] == "ENDED")
        audit = me.get(f"/api/runs/{run_id}/audit").json()
    assert (ended["outcome"], ended["conclusion"]["kind"]) == ("completed", "succeeded")
    assert audit["holds"], audit
    commits = [each["commit"] for each in ended["rounds"]]
    folder = Path(ended["repository"])
    made = git(folder, "rev-list", "--reverse", f"{ended['base']}..endstop/{run_id}").split()
    assert made == commits
    assert git(folder, "status", "--porcelain") == ""
