"""A run meets its limit, waits for somebody, is given more, and goes on; in two processes, if you like.

The record is kept in a database: here in a temporary folder, otherwise where ENDSTOP_HOME says.

Run it: python examples/review_and_resume.py
"""

import asyncio
import os
from tempfile import TemporaryDirectory
from typing import Any

import endstop as es
from endstop.app import open_app
from endstop.ports import ModelRequest, ToolMessage
from endstop.testing import ScriptedModel, calls
from endstop.testing.replies import ScriptedReply

CHAPTERS = 6


def read(chapter: int) -> str:
    """Read a chapter of the book."""
    return f"Chapter {chapter} of {CHAPTERS}."


def reads_on(request: ModelRequest) -> str | ScriptedReply:
    """What a model does that reads the whole book before it answers."""
    read_so_far = sum(
        isinstance(message, ToolMessage) and message.text.startswith("Chapter")
        for message in request.messages
    )
    return calls("read", chapter=read_so_far + 1) if read_so_far < CHAPTERS else "It is about logging in."


def parts() -> dict[str, Any]:
    """The agent. A record keeps its name and its counters, not its code: resuming takes these again."""
    return {"name": "reader", "model": ScriptedModel(reads_on), "tools": [read], "on_limit": "review"}


async def first_process() -> None:
    run = await es.run("What is the book about?", budget=es.Budget(turns=4), **parts())
    print(f"The run is {run.outcome}")


async def second_process() -> None:
    async with open_app() as app:
        (waiting,) = await app.store.reviews(is_open=True)
    print(f"Somebody looks at it: {waiting.review.doing}")
    grant = es.Grant(turns=5, by="ann", why="it was getting somewhere")
    run = await es.resume(waiting.run_id, grant=grant, **parts())
    print(f"The run is {run.outcome}, after {run.usage.turns} turns: {run.answer}")
    print(run.audit())


with TemporaryDirectory() as folder:
    os.environ["ENDSTOP_HOME"] = folder
    asyncio.run(first_process())
    asyncio.run(second_process())
