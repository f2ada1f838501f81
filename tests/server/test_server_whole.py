"""The server as `endstop serve` makes it: the oracle answers, with the built-in model and a real database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from chat_server import PORT, PacedModel, read_sse, until
from fastapi import FastAPI

from endstop.app import Config, open_app
from endstop.app.oracle import ORACLE_TREE, make_oracle, tree_library
from endstop.loop.agent import Agent
from endstop.ports import ReplyEnded, TextPiece
from endstop.server.access import Access
from endstop.server.questions import Wanted
from endstop.server.server import make_server


def config_in(home: Path) -> Config:
    return Config(home=home, database_url=f"sqlite:///{home / 'runs.db'}", user="ana")


def client_of(server: FastAPI, access: Access) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server),
        base_url=f"http://127.0.0.1:{PORT}",
        headers={"Authorization": f"Bearer {access.program_token()}"},
        timeout=30,
    )


@pytest.mark.guarantee("I1")
async def test_the_oracle_answers_about_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path))
    project = tmp_path / "shop"
    project.mkdir()
    (project / "login.py").write_text("def login():\n    '''Let a user log in.'''\n", "utf-8")
    async with open_app(config_in(tmp_path)) as app:
        access = Access.on_loopback(app.store, user="ana", port=PORT)
        server = make_server(app, access, project=str(project))
        async with server.router.lifespan_context(server), client_of(server, access) as me:
            answer = await me.post("/api/oracle/query", json={"query": "Where is the function login?"})
            events = read_sse(answer.text)
            assert events[-1].type == "done"
            assert "login.py" in str(events[-1].data["answer"])
            assert {"tool_call", "tool_result", "content", "source"} <= {event.type for event in events}
            run_id = answer.headers["x-run-id"]
            assert (await me.get(f"/api/runs/{run_id}/audit")).json()["holds"] is True
            (tmp_path / "trees").mkdir()
            (tmp_path / "trees" / "mine.lua").write_text("this is no tree", "utf-8")
            refused = await me.post("/api/oracle/query", json={"query": "x", "tree": "mine"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "tree_refused")
            assert refused.json()["error"]["problems"]


@pytest.mark.guarantee("E5")
async def test_a_run_finishes_on_the_tree_it_started_with_and_a_broken_file_keeps_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path))
    config = config_in(tmp_path)
    own = tmp_path / "trees" / f"{ORACLE_TREE}.lua"
    own.parent.mkdir()
    own.write_text(tree_library(config).path(ORACLE_TREE).read_text("utf-8"), "utf-8")
    models: list[PacedModel] = []

    def make_agent(wanted: Wanted) -> Agent:
        models.append(PacedModel(TextPiece(text="It is in login.py."), ReplyEnded()))
        return make_oracle(
            wanted.project, model=models[-1], budget=wanted.budget, tree=wanted.tree, config=config
        )

    async with open_app(config) as app:
        access = Access.on_loopback(app.store, user="ana", port=PORT)
        server = make_server(app, access, make_agent=make_agent, project=str(tmp_path))
        async with server.router.lifespan_context(server), client_of(server, access) as me:
            body = {"query": "Where is login?"}
            for breaks in (True, False):
                asking = asyncio.create_task(me.post("/api/oracle/query", json=body))
                await until(lambda: len(models) == (1 if breaks else 2))  # noqa: B023 - waited for at once
                if breaks:
                    own.write_text("this is no tree", "utf-8")
                for _ in range(20):
                    models[-1].step()
                done = read_sse((await asking).text)[-1]
                assert "login.py" in str(done.data["answer"])
            assert server.state.context.trees.trouble(ORACLE_TREE) is not None


async def test_a_server_begins_and_ends_as_a_web_server_tells_it(tmp_path: Path) -> None:
    async with open_app(config_in(tmp_path)) as app:
        server = make_server(app, Access.on_loopback(app.store, user="ana", port=PORT))
        told = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
        said: list[str] = []

        async def receive() -> Any:
            return next(told)

        async def send(message: Any) -> None:
            said.append(message["type"])

        await server({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
        assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
        assert server.state.context.hub.is_closing


async def test_many_questions_at_once_are_all_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDSTOP_HOME", str(tmp_path))
    async with open_app(config_in(tmp_path)) as app:
        access = Access.on_loopback(app.store, user="ana", port=PORT)
        server = make_server(app, access, project=str(tmp_path))
        async with server.router.lifespan_context(server), client_of(server, access) as me:
            asked = (me.post("/api/oracle/query", json={"query": f"What is {n}?"}) for n in range(8))
            for answer in await asyncio.gather(*asked):
                assert read_sse(answer.text)[-1].type == "done"
        assert server.state.context.hub.measures.open_streams == 0
