"""Alive, ready, and figures for Prometheus: of runs and requests, and of nobody."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from small_server import SmallServer, client_of, small_server
from starlette.types import Message

from endstop.app import make_agent
from endstop.errors import StoreError
from endstop.server import routes_health
from endstop.server.measuring import Measures
from endstop.server.metrics import Counter, Gauge, Histogram, told
from endstop.testing import MemoryStore, ScriptedModel, calls, echo_tool


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[SmallServer]:
    async with small_server(tmp_path) as made:
        yield made


async def test_a_server_is_alive_and_ready_for_anybody(server: SmallServer) -> None:
    for path in ("/healthz", "/readyz"):
        answer = await server.nobody.get(path)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


class BrokenStore(MemoryStore):
    async def settings(self, user: str) -> Any:
        raise StoreError("The database is locked", to_do="Wait")


class SilentStore(MemoryStore):
    async def settings(self, user: str) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize("store", [BrokenStore, SilentStore])
async def test_without_its_database_a_server_is_alive_and_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: type[MemoryStore]
) -> None:
    monkeypatch.setattr(routes_health, "READY_WITHIN_S", 0.05)
    async with small_server(tmp_path, store=store()) as server:
        assert (await server.nobody.get("/healthz")).status_code == 200
        answer = await server.nobody.get("/readyz")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_failed")


# ── figures ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_figures_are_for_this_machine_and_for_whoever_has_a_token(server: SmallServer) -> None:
    token = server.access.program_token()
    for address, given, status in (
        ("127.0.0.1", None, 200),
        ("::1", None, 200),
        ("192.0.2.7", None, 401),
        ("nonsense", None, 401),
        ("192.0.2.7", token, 200),
    ):
        async with client_of(server.asgi, given, address=address) as client:
            assert (await client.get("/metrics")).status_code == status


async def test_the_figures_are_the_text_that_prometheus_reads(server: SmallServer) -> None:
    await server.me.get("/api/settings/agent-config")
    await server.me.get("/api/trees/nothing-with-a-secret-name")
    answer = await server.nobody.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for line in answer.text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+', line), (
            line
        )
    counted = 'endstop_request_seconds_count{method="GET",route="/api/settings/agent-config",status="200"} 1'
    assert counted in answer.text
    assert 'route="/api/trees/{name}",status="404"' in answer.text
    assert "secret" not in answer.text


async def test_a_method_that_somebody_made_up_makes_no_label_of_its_own(server: SmallServer) -> None:
    await server.me.request("MADEUP", "/made/up")
    text = (await server.nobody.get("/metrics")).text
    assert 'method="OTHER",route="none",status="404"' in text
    assert "MADEUP" not in text


async def test_a_run_is_counted_by_what_happened_in_it(server: SmallServer) -> None:
    runner = server.asgi.state.context.app.runner
    model = ScriptedModel(*[calls("echo", text="the same") for _ in range(30)])
    run = await runner.run(make_agent(model=model, tools=[echo_tool()]), "why?", user="somebody")
    measures = Measures()
    for fact in run.facts:
        measures.count(fact)
    text = measures.text()
    turns = sum(fact.type == "turn.started" for fact in run.facts)
    outcome = type(run.outcome).__name__.lower()
    assert "endstop_runs_started_total 1\n" in text
    assert f'endstop_runs_ended_total{{outcome="{outcome}"}} 1\n' in text
    assert f"endstop_turns_total {turns}\n" in text
    assert re.search(r'endstop_tokens_total\{direction="input"\} [1-9]\d*\n', text)
    assert 'endstop_tool_calls_total{status="executed"}' in text
    assert 'endstop_findings_total{pattern="' in text
    assert "somebody" not in text


def test_streams_and_live_runs_are_told_as_they_stand() -> None:
    measures = Measures()
    measures.open_streams = 2
    measures.live_runs = lambda: 3
    assert "endstop_open_streams 2\n" in measures.text()
    assert "endstop_live_runs 3\n" in measures.text()


async def test_a_server_that_measures_nothing_still_tells_its_figures(server: SmallServer) -> None:
    del server.asgi.state.measures
    assert "endstop_turns_total 0\n" in (await server.nobody.get("/metrics")).text


def test_a_counter_keeps_large_numbers_whole_and_escapes_labels() -> None:
    counter = Counter("c_total", "About.", "label")
    counter.add('a"\\\n', amount=2**53)
    counter.add('a"\\\n', amount=0.0)
    assert told([counter]).splitlines()[2] == 'c_total{label="a\\"\\\\\\n"} 9007199254740992'


def test_a_histogram_adds_up_from_bound_to_bound() -> None:
    histogram = Histogram("h", "About.", bounds=(0.5, 1.0))
    for value in (0.25, 0.5, 0.75, 9.0):
        histogram.observe(value)
    assert told([histogram]).splitlines() == [
        "# HELP h About.",
        "# TYPE h histogram",
        'h_bucket{le="0.5"} 2',
        'h_bucket{le="1"} 3',
        'h_bucket{le="+Inf"} 4',
        "h_sum 10.5",
        "h_count 4",
    ]


def test_a_gauge_is_read_when_it_is_told() -> None:
    assert told([Gauge("g", "About.", lambda: 1.5)]).splitlines()[2] == "g 1.5"


async def test_what_is_no_request_passes_untouched(server: SmallServer) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "lifespan.shutdown"} if sent else {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        sent.append(message)

    await server.asgi({"type": "lifespan", "app": server.asgi}, receive, send)
    assert [one["type"] for one in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
