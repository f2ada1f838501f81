"""What a program calls: ``run`` and ``resume``."""

from __future__ import annotations

from typing import Any

from endstop.app.agents import agent_of, make_agent
from endstop.app.opened import SystemClock, open_app
from endstop.kernel.budget import Grant
from endstop.loop.journal import Listener
from endstop.ports import Store
from endstop.runner import Run, Runner


async def run(
    question: str,
    *,
    store: Store | None = None,
    user: str | None = None,
    project: str | None = None,
    listener: Listener | None = None,
    **agent: Any,
) -> Run:
    """Run an agent under a budget. A limit is a value in ``run.outcome``, never an exception.

    ``model`` (``"provider:model"``, or any ``Model``), ``tools``, ``budget`` and whatever else an ``Agent``
    has. The record is kept in ``store``: by default in the database of ``read_config``.
    """
    made = make_agent(**agent)
    options = {"user": user, "project": project, "listener": listener}
    if store is not None:
        return await Runner(store, clock=SystemClock(), agent_of=agent_of).run(made, question, **options)
    async with open_app() as app:
        return await app.runner.run(made, question, **options)


async def resume(
    run_id: str,
    *,
    grant: Grant | None = None,
    answer: str | None = None,
    store: Store | None = None,
    listener: Listener | None = None,
    **agent: Any,
) -> Run:
    """Go on with a run that is paused, or was left open. Give its model and tools again, if it had any."""
    made = make_agent(**agent) if agent else None
    options: dict[str, Any] = {"agent": made, "grant": grant, "answer": answer, "listener": listener}
    if store is not None:
        return await Runner(store, clock=SystemClock(), agent_of=agent_of).resume(run_id, **options)
    async with open_app() as app:
        return await app.runner.resume(run_id, **options)
