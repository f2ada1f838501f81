"""What a program calls: ``run`` and ``resume``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from endstop.app.agents import ToolLike, agent_of, chosen_agent
from endstop.app.opened import SystemClock, open_app
from endstop.kernel.budget import Budget, Grant
from endstop.loop.agent import Agent
from endstop.loop.journal import Listener
from endstop.ports import Model, Store
from endstop.runner import Run, Runner


async def run(
    question: str,
    *,
    model: Model | str | None = None,
    tools: Iterable[ToolLike] = (),
    budget: Budget | None = None,
    agent: Agent | None = None,
    store: Store | None = None,
    user: str | None = None,
    project: str | None = None,
    run_id: str | None = None,
    listener: Listener | None = None,
    **parts: Any,
) -> Run:
    """Run an agent under a budget. A limit is a value in ``run.outcome``, never an exception.

    Give a ``model`` (``"provider:model"``, or any ``Model``), ``tools`` (plain functions will do), a
    ``budget`` and whatever else an ``Agent`` has (``system``, ``terminal``, ``on_limit`` …); or an
    ``agent`` made before. The record is kept in ``store``: by default in the database that
    ``endstop doctor`` names.
    """
    made = chosen_agent(agent, model=model, tools=tools, budget=budget, **parts)
    options = {"user": user, "project": project, "run_id": run_id, "listener": listener}
    if store is not None:
        return await Runner(store, clock=SystemClock(), agent_of=agent_of).run(made, question, **options)
    async with open_app() as app:
        return await app.runner.run(made, question, **options)


async def resume(
    run_id: str,
    *,
    grant: Grant | None = None,
    answer: str | None = None,
    model: Model | str | None = None,
    tools: Iterable[ToolLike] = (),
    agent: Agent | None = None,
    store: Store | None = None,
    listener: Listener | None = None,
    **parts: Any,
) -> Run:
    """Go on with a run that is paused, or was left open, under the budget it has.

    ``grant`` gives it more, and approves the review it waits for; ``answer`` answers what its agent asked.
    If the agent had code of yours in it (tools, a terminal tool, a reviewer), give its parts again.
    """
    is_given = agent is not None or model is not None or bool(tools) or bool(parts)
    made = chosen_agent(agent, model=model, tools=tools, is_resumed=True, **parts) if is_given else None
    options: dict[str, Any] = {"agent": made, "grant": grant, "answer": answer, "listener": listener}
    if store is not None:
        return await Runner(store, clock=SystemClock(), agent_of=agent_of).resume(run_id, **options)
    async with open_app() as app:
        return await app.runner.resume(run_id, **options)
