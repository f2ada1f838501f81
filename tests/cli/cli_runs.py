"""Runs in states that commands have to cope with, made by the runner itself."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from endstop.app import open_app, read_config
from endstop.app.gallery import demo_agent
from endstop.loop.agent import Agent, OnLimit
from endstop.ports import Source, ToolContext, ToolResult, ToolSpec, ToolTraits
from endstop.testing import ScriptedModel, calls, says

T = TypeVar("T")


def under_review(home: Path) -> str:
    """An agent that met its limit on turns and waits for a review; the id of its run."""
    return run_of(home, replace(demo_agent("ignores_last_turn"), on_limit=OnLimit.REVIEW))


def awaiting_user(home: Path) -> str:
    """A run whose agent asks the user something; it goes on as one that answers."""
    model = ScriptedModel(calls("await_user", message="Shall I go on?"), says("never said"))
    return run_of(home, replace(demo_agent("recovers"), model=model, tools=(), awaits_user=True))


def with_tools_of_its_own(home: Path) -> str:
    """A run that only the program that made it can go on with: under review, with somebody's tool."""
    agent = replace(demo_agent("ignores_last_turn"), name="somebody's", on_limit=OnLimit.REVIEW)
    return run_of(home, agent)


def left_open_by_its_tool(home: Path) -> None:
    """A run of somebody's own program, whose tool killed the process in the middle of its call."""
    code = f"import pathlib, cli_runs; cli_runs.run_with_deadly_tool(pathlib.Path({str(home)!r}))"
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, check=False)
    assert done.returncode == -signal.SIGKILL


def run_with_deadly_tool(home: Path) -> None:
    run_of(home, Agent(name="doomed", model=ScriptedModel(calls("die")), tools=(_Die(),)))


class _Die:
    spec = ToolSpec(name="die", description="Dies.", parameters={"type": "object", "properties": {}})
    traits = ToolTraits(changes_something=True)

    async def call(self, arguments: str, context: ToolContext) -> ToolResult:
        os.kill(os.getpid(), signal.SIGKILL)
        return ToolResult(text="never")


def of_unknown_price(home: Path) -> str:
    model = ScriptedModel(says("Nobody knows what this costs."), price=None)
    return run_of(home, Agent(name="unpriced", model=model))


def with_sources(home: Path) -> str:
    model = ScriptedModel(calls("look"), says("It is in the notes."))
    return run_of(home, Agent(name="citing", model=model, tools=(_Look(),)))


class _Look:
    spec = ToolSpec(name="look", description="Looks.", parameters={"type": "object", "properties": {}})
    traits = ToolTraits()

    async def call(self, arguments: str, context: ToolContext) -> ToolResult:
        cited = Source(title="Notes", location="docs/notes.md:3", passage="It is here.")
        return ToolResult(text="found", sources=(cited,))


def run_of(home: Path, agent: Agent) -> str:
    async def work() -> str:
        config = read_config({"ENDSTOP_HOME": str(home)})
        async with open_app(config) as app:
            return (await app.runner.run(agent, "What is this?", user="me")).id

    return waited_for(work())


def waited_for(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
