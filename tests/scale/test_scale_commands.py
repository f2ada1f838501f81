"""The two commands of the guide, as people start them: ``endstop serve --hand-out``, ``endstop worker``."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from scale_clients import ServerProcess, begun_server

pytestmark = pytest.mark.timeout(60)


async def test_a_question_is_answered_by_a_worker_and_both_end_in_peace(
    empty_postgres_url: str, tmp_path: Path
) -> None:
    program = [sys.executable, "-m", "endstop.cli"]
    env = {**os.environ, "ENDSTOP_HOME": str(tmp_path / "home"), "ENDSTOP_DATABASE_URL": empty_postgres_url}
    project = tmp_path / "shop"
    project.mkdir()
    (project / "limits.md").write_text("# Limits\n\nA basket holds at most 40 things.\n")
    options = ["--port", "0", "--token", "--json", "--hand-out", "--project", str(project)]
    worker = subprocess.Popen(
        [*program, "worker", "--json", "--agents", "oracle"], stdout=subprocess.PIPE, env=env, text=True
    )
    served: ServerProcess | None = None
    try:
        served = await begun_server([*program, "serve", *options], env=env)
        assert worker.stdout is not None
        ready = json.loads(await asyncio.to_thread(worker.stdout.readline))
        assert ready["concurrency"] == 8
        assert "s3cret" not in ready["database"]
        async with served.client() as client:
            events = await _answered(client, "How many things does a basket hold?")
        assert events[-1]["type"] == "done"
        assert "40" in str(events[-1]["answer"])
        for process in (worker, served.process):
            process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(worker.wait, 15) == 0
        assert await asyncio.to_thread(served.process.wait, 15) == 0
    finally:
        if served is not None:
            served.end()
        worker.kill()
        worker.wait()
        if worker.stdout is not None:
            worker.stdout.close()


async def _answered(client: httpx.AsyncClient, question: str) -> list[dict[str, object]]:
    answer = await client.post("/api/oracle/query", json={"query": question})
    assert answer.status_code == 200, answer.text
    return [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]
