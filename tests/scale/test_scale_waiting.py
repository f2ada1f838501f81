"""Whoever watches a run that no worker is at is told so, and is told when one is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from scale_cast import Play
from scale_clients import ServerProcess, asked, server
from scale_stage import stage

from endstop.runner.scale.dispatcher import QUIET_S
from endstop.server.hub import REMOTE_POLL_S

TALE = Play(steps=0, words=20, word_s=0.02)


async def told(where: ServerProcess, run_id: str) -> list[dict[str, Any]]:
    """All that a client is told of a run, each with its ``id`` if it has one."""
    events: list[dict[str, Any]] = []
    async with (
        where.client() as client,
        client.stream("GET", f"/api/runs/{run_id}/stream") as response,
    ):
        name: str | None = None
        async for line in response.aiter_lines():
            if line.startswith("id:"):
                name = line[3:].strip()
            elif line.startswith("data:"):
                events.append({**json.loads(line[5:]), "id": name})
                name = None
    return events


@pytest.mark.guarantee("I1", "H5")
async def test_a_run_that_waits_for_a_worker_is_not_left_open_and_its_stream_says_so(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on, server(postgres_url, tmp_path) as one:
        run_id = await asked(one, TALE)
        following = asyncio.create_task(told(one, run_id))
        async with one.client() as client:
            shown = (await client.get(f"/api/runs/{run_id}")).json()
            listed = (await client.get("/api/runs")).json()["runs"]
        assert (shown["phase"], shown["is_left_open"]) == ("RUNNING", False)
        assert [run["is_left_open"] for run in listed] == [False]
        await asyncio.sleep(REMOTE_POLL_S + 0.5)
        await on.worker()
        events = await following
        seen = [event for event in events if event["type"] == "worker"]
        assert [event["is_there"] for event in seen] == [False, True]
        assert [event["id"] for event in seen] == [None, None], "it is not on record"
        begun, gone, back = events[0]["at"], seen[0]["at"], seen[1]["at"]
        assert gone - begun < REMOTE_POLL_S < back - gone, "it tells since when"
        types = [event["type"] for event in events]
        assert types.index("worker") < types.index("content")


@pytest.mark.thorough
async def test_a_worker_that_is_at_it_is_not_talked_of_however_long_its_model_thinks(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on, server(postgres_url, tmp_path) as one:
        await on.worker()
        events = await told(one, await asked(one, Play(steps=0, think_s=2 * REMOTE_POLL_S)))
        assert events[-1]["type"] == "done"
        assert not [event for event in events if event["type"] == "worker"]


@pytest.mark.thorough
async def test_a_worker_that_was_only_slow_is_said_to_be_back_with_its_next_word(
    postgres_url: str, tmp_path: Path
) -> None:
    async with stage(postgres_url, tmp_path) as on, server(postgres_url, tmp_path) as one:
        worker = await on.worker()
        run_id = await asked(one, Play(steps=0, words=60, word_s=0.1))
        following = asyncio.create_task(told(one, run_id))
        await asyncio.sleep(2)
        worker.stop()
        await asyncio.sleep(QUIET_S + REMOTE_POLL_S + 0.5)
        worker.wake()
        events = await following
        assert [event["is_there"] for event in events if event["type"] == "worker"] == [False, True]
        assert not [event for event in events if event["type"] == "retract"]
