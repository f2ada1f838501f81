"""``endstop worker``: what it is told, what it refuses."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from cli_program import Endstop, line_with, started


@pytest.mark.parametrize(
    "rate", ["60", "claude=60", "a:b", "a:b=", "a:b=many", "=60", ":=60", "a:=60", ":b=60", "a:b=1=x"]
)
def test_a_rate_that_cannot_be_read_is_refused_with_an_example(endstop: Endstop, rate: str) -> None:
    done = endstop("worker", "--json", "--rate", rate)
    assert done.code == 2
    assert done.error["code"] == "usage"
    assert "provider:model=" in done.error["to_do"]


@pytest.mark.parametrize("rate", ["a:b=0", "a:b=-3", "a:b=nan", "a:b=inf"])
def test_a_rate_that_is_none_is_refused(endstop: Endstop, rate: str) -> None:
    done = endstop("worker", "--json", "--rate", rate, "--database", "postgresql://me@127.0.0.1:1/x")
    assert done.code == 2
    assert "calls per minute" in done.error["allowed"]


def test_a_worker_needs_postgresql(endstop: Endstop) -> None:
    done = endstop("worker", "--json", ENDSTOP_DATABASE_URL="sqlite://")
    assert done.code == 2
    assert "--database postgresql://" in done.error["to_do"]


def test_a_worker_says_when_it_is_ready_and_ends_in_peace_when_it_is_told_to(
    home: Path, postgres_url: str
) -> None:
    worker = started(
        home, "worker", "--json", "--database", postgres_url, "--rate", "extractive=600", "--drain", "5"
    )
    try:
        ready = json.loads(line_with(worker, "concurrency"))
        assert ready["concurrency"] == 8
        assert "s3cret" not in ready["database"]
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=20) == 0
    finally:
        worker.kill()
        worker.communicate()
