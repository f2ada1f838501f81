"""A real server, killed in mid-stream and started again: nothing is lost, and the run ends (H5, I1)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from chat_server import heard, read_sse
from slow_server import WORDS

from endstop.server.stream import StreamEvent

SERVER = Path(__file__).with_name("slow_server.py")


@contextmanager
def serving(
    home: Path, piece_s: float, *, recover_s: float = 30.0
) -> Generator[tuple[subprocess.Popen[str], httpx.Client, httpx.Client]]:
    """A server process, and two users who call it."""
    url = f"sqlite:///{home / 'runs.db'}"
    process = subprocess.Popen(
        [sys.executable, str(SERVER), url, str(home), str(piece_s), str(recover_s)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        port, mine, others = process.stdout.readline().split()
        with _client(port, mine) as me, _client(port, others) as other:
            yield process, me, other
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _client(port: str, token: str) -> httpx.Client:
    return httpx.Client(
        base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {token}"}, timeout=20
    )


def events_of(answer: httpx.Response) -> Iterator[StreamEvent]:
    """Events as they come, until the connection is gone."""
    kept = ""
    with contextlib.suppress(httpx.RemoteProtocolError, httpx.ReadError):
        for text in answer.iter_text():
            kept += text
            *whole, kept = kept.split("\n\n")
            for block in whole:
                yield from read_sse(block)


@pytest.mark.guarantee("I1", "H5", "D10")
@pytest.mark.parametrize(
    "killed_after",
    [
        pytest.param(1, id="after 1 event", marks=pytest.mark.thorough),
        pytest.param(4, id="after 4 events"),
        pytest.param(30, id="after 30 events", marks=pytest.mark.thorough),
    ],
)
def test_a_server_killed_in_mid_stream_goes_on_from_the_last_id(tmp_path: Path, killed_after: int) -> None:
    seen: list[StreamEvent] = []
    with (
        serving(tmp_path, 0.02) as (process, me, _),
        me.stream("POST", "/api/oracle/query", json={"query": "Speak."}) as answer,
    ):
        assert answer.status_code == 200
        run_id = answer.headers["x-run-id"]
        for event in events_of(answer):
            seen.append(event)
            if len(seen) == killed_after:
                process.send_signal(signal.SIGKILL)
    assert seen[-1].type != "done"
    with serving(tmp_path, 0.0) as (_, me, other):
        assert other.get(f"/api/runs/{run_id}").status_code == 404
        assert other.get(f"/api/runs/{run_id}/stream").status_code == 404
        answer = me.get(f"/api/runs/{run_id}/stream", headers={"Last-Event-ID": seen[-1].id})
        rest = read_sse(answer.text)
        assert rest[-1].type == "done"
        assert rest[-1].data["outcome"] == "completed"
        everything = heard([*seen, *rest])
        assert everything == heard(read_sse(me.get(f"/api/runs/{run_id}/stream").text))
        assert everything.content == "".join(WORDS)
        if any(event.type == "content" for event in seen):
            assert [event.type for event in rest].count("retract") == 1
        report = me.get(f"/api/runs/{run_id}/audit").json()
        assert report["holds"], report


@pytest.mark.guarantee("H3", "I1")
def test_a_client_that_hangs_up_costs_nothing_and_one_that_does_not_read_slows_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, 0.005) as (process, me, _):
        with me.stream("POST", "/api/oracle/query", json={"query": "Speak."}) as answer:
            run_id = answer.headers["x-run-id"]
            next(events_of(answer))  # and hangs up
        with me.stream("GET", f"/api/runs/{run_id}/stream") as idle:
            began = time.monotonic()
            whole = heard(read_sse(me.get(f"/api/runs/{run_id}/stream").text))
            assert time.monotonic() - began < 10
            assert whole.content == "".join(WORDS)
            assert heard(events_of(idle)) == whole
        os.kill(process.pid, 0)


@pytest.mark.guarantee("I1", "H5", "D10")
def test_a_server_that_runs_takes_over_the_runs_of_one_that_was_killed(tmp_path: Path) -> None:
    with (
        serving(tmp_path, 0.0, recover_s=0.3) as (_, me, _),
        serving(tmp_path, 0.05) as (doomed, mine, _),
    ):
        seen: list[StreamEvent] = []
        with mine.stream("POST", "/api/oracle/query", json={"query": "Speak."}) as answer:
            run_id = answer.headers["x-run-id"]
            for event in events_of(answer):
                seen.append(event)
                if len(seen) == 6:
                    time.sleep(0.7)  # the other looks twice, and leaves alone what somebody works on
                    facts = me.get(f"/api/runs/{run_id}/facts").json()
                    assert "run.taken" not in str(facts)
                    doomed.send_signal(signal.SIGKILL)
        assert seen[-1].type != "done"
        answer = me.get(f"/api/runs/{run_id}/stream", headers={"Last-Event-ID": seen[-1].id})
        rest = read_sse(answer.text)
        assert rest[-1].data["outcome"] == "completed"
        assert heard([*seen, *rest]).content == "".join(WORDS)
        assert str(me.get(f"/api/runs/{run_id}/facts").json()).count("run.taken") == 1
        report = me.get(f"/api/runs/{run_id}/audit").json()
        assert report["holds"], report
