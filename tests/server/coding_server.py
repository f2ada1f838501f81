"""A server that codes: real repositories, real git, scripts in place of models, and three who call it."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from small_server import PORT, client_of

from endstop.app import App, Config, SystemClock, agent_of
from endstop.coding import CODING
from endstop.coding.examples import EXAMPLES
from endstop.coding.repository import open_repository
from endstop.coding.worktree import Worktree
from endstop.events.coding import SessionOpened
from endstop.kernel.outcome import StopReason, StopRule
from endstop.loop.agent import Agent
from endstop.runner import Runner
from endstop.runner.opening import new_recorder
from endstop.server.access import Access
from endstop.server.hosts import Hosts
from endstop.server.rate import QueryLimits
from endstop.server.server import make_server
from endstop.testing import MemoryStore, ScriptedModel

PLENTY = QueryLimits(per_minute=1_000)


def git(folder: Path, *words: str) -> str:
    """Plain git, as a user would run it."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode(errors="surrogateescape").strip()


def made_repository(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """A Python project on branch main, with one test and one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ann")
    git(folder, "config", "user.email", "ann@example.org")
    for name, text in (files or {"code.py": "a = 1\n", "pytest.ini": "[pytest]\n"}).items():
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder.resolve()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingServer:
    """The server, and who calls it."""

    home: Path
    store: MemoryStore
    asgi: FastAPI
    me: httpx.AsyncClient
    """On loopback, the person who started it."""
    other: httpx.AsyncClient
    nobody: httpx.AsyncClient

    async def session(self, run_id: str) -> dict[str, Any]:
        answer = await self.me.get(f"/api/coding/{run_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def began(self, client: httpx.AsyncClient | None = None, **given: object) -> str:
        answer = await (client or self.me).post("/api/coding", json=given)
        assert answer.status_code == 202, answer.text
        return answer.json()["run_id"]

    async def until_it_waits(self, run_id: str, *, seconds: float = 110.0) -> dict[str, Any]:
        """The session once nobody works on it any more: it asks something, or has ended."""
        async with asyncio.timeout(seconds):
            while (await self.store.run(run_id)).phase == "RUNNING":
                await asyncio.sleep(0.02)
        return await self.session(run_id)

    async def played(self, name: str) -> dict[str, Any]:
        """An example from its beginning to its end, with the answers it is meant to get."""
        run_id = await self.began(example=name)
        for answer in EXAMPLES[name].answers:
            asked = await self.until_it_waits(run_id)
            assert asked["asked"] is not None
            said = await self.me.post(f"/api/runs/{run_id}/answer", json={"answer": answer})
            assert said.status_code == 202, said.text
        return await self.until_it_waits(run_id)

    async def left(
        self,
        folder: Path,
        rounds: Sequence[Mapping[str, str]],
        *,
        run_id: str = "run_1",
        user: str = "me",
        has_ended: bool = True,
    ) -> Worktree:
        """A session as its process leaves it: its record, its branch, and its worktree with these rounds."""
        repository = await open_repository(folder)
        path = self.home / "worktrees" / run_id
        worktree = Worktree(repository=repository, session=run_id, path=path, base=repository.head)
        await worktree.ensure()
        for number, files in enumerate(rounds, start=1):
            for name, text in files.items():
                (path / name).write_text(text, encoding="latin-1")
            await worktree.commit(number, f"Round {number}")
        opened = SessionOpened(
            repository=str(repository.root),
            base=repository.head,
            branch=worktree.branch,
            worktree=str(path),
            test_command="pytest",
            confinement="not at all",
            policy="{}",
        )
        agent = Agent(name=CODING, model=ScriptedModel("Done."))
        recorder = new_recorder(agent, "Better.", time=1.0, user=user, project=str(folder), run_id=run_id)
        recorder.note(opened, time=1.0)
        if has_ended:
            recorder.end(StopReason(rule=StopRule.FINISHED, message="Done."), at_s=1.0, time=2.0)
        await self.store.append(recorder.facts)
        return worktree


@asynccontextmanager
async def coding_server(
    home: Path, *served: Path, store: MemoryStore | None = None, is_private: bool = True
) -> AsyncGenerator[CodingServer]:
    """Run a server for the repositories in ``served``; unless ``is_private``, one that others can reach."""
    store = MemoryStore() if store is None else store
    config = Config(home=home, database_url="sqlite:///:memory:")
    app = App(config=config, store=store, runner=Runner(store, clock=SystemClock(), agent_of=agent_of))
    hosts = Hosts.loopback(PORT) if is_private else Hosts.beyond("0.0.0.0", ("127.0.0.1",))
    access = Access(store, hosts=hosts, owner=config.user if is_private else None, limits=PLENTY)
    server = make_server(app, access, recovers=False, repositories=served)
    async with (
        server.router.lifespan_context(server),
        client_of(server, access.program_token("me")) as me,
        client_of(server, access.program_token("other")) as other,
        client_of(server, None) as nobody,
    ):
        yield CodingServer(home=home, store=store, asgi=server, me=me, other=other, nobody=nobody)
