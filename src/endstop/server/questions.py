"""From a question that came over the interface to a run: its agent, its budget, its conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from endstop.app.conversations import conversation_for
from endstop.app.oracle import ORACLE_TREE, make_oracle, require_project
from endstop.app.playground import is_player, player_agent, watchable
from endstop.errors import InvalidValueError
from endstop.kernel.budget import Budget
from endstop.kernel.limits import words
from endstop.kernel.settings import AgentSettings
from endstop.loop.agent import Agent
from endstop.ports import Conversation
from endstop.runner.opening import require_price
from endstop.server.access import Caller
from endstop.server.context import Context
from endstop.server.owned import own_conversation, own_run
from endstop.server.shapes_given import Query
from endstop.tree.spec import TreeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an agent is to be made for."""

    question: str
    project: Path
    model: str | None
    budget: Budget
    tree: TreeSpec
    on_limit: str


MakeAgent: TypeAlias = Callable[[Wanted], Agent]
"""Makes the agent that answers a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Starts runs for questions. In ``request.app.state.questions``."""

    make_agent: MakeAgent
    project: str | None = None
    """Which folder is meant where a question names none; None for the current one."""
    allowed_projects: tuple[Path, ...] = ()
    """The folders that may be asked about, with all in them; none for any."""

    async def start(self, context: Context, caller: Caller, query: Query) -> tuple[str, str]:
        """Start a run; its id and that of its conversation. What is wrong is said before anything is kept."""
        words("query", query.query)
        told = await self._told(context, caller, query)
        folder = self._folder(query.project or (None if told is None else told.project) or self.project)
        settings = context.app.default_settings.changed(await context.app.store.settings(caller.user))
        if query.limits is not None:
            settings = query.limits.changed(settings)
        agent = self._agent(context, query, folder, settings)
        require_price(agent)
        with await context.access.admit_query(caller):
            if told is None:
                told = await conversation_for(
                    context.app.store, query.query, user=caller.user, project=str(folder)
                )
            run_id = await context.hub.start(
                agent, query.query, user=caller.user, project=str(folder), conversation_id=told.id
            )
        return run_id, told.id

    def _agent(self, context: Context, query: Query, folder: Path, settings: AgentSettings) -> Agent:
        if query.model is not None and is_player(query.model):
            given = () if query.limits is None else query.limits.given()
            budget = watchable(settings, given).budget()
            return player_agent(query.model, budget=budget, on_limit=query.on_limit)
        return self.make_agent(
            Wanted(
                question=query.query,
                project=folder,
                model=query.model,
                budget=settings.budget(),
                tree=context.trees.get(query.tree or ORACLE_TREE),
                on_limit=query.on_limit,
            )
        )

    async def _told(self, context: Context, caller: Caller, query: Query) -> Conversation | None:
        """The conversation that a question goes on with; None for a new one."""
        store = context.app.store
        if query.conversation_id is not None and query.follows_run is not None:
            raise InvalidValueError(
                "follows_run", query.follows_run, allowed="conversation_id or follows_run, not both"
            )
        if query.conversation_id is not None:
            return await own_conversation(store, caller, query.conversation_id)
        if query.follows_run is None:
            return None
        follows = await own_run(store, caller, query.follows_run)
        return await conversation_for(store, query.query, follows=follows)

    def _folder(self, named: str | None) -> Path:
        folder = require_project(named or ".")
        if self.allowed_projects and not any(
            folder.is_relative_to(allowed) for allowed in self.allowed_projects
        ):
            raise InvalidValueError("project", named, allowed="the folders that this server was started for")
        return folder


def oracle_maker(context: Context) -> MakeAgent:
    """Makes oracles, with the parts of this server."""

    def make(wanted: Wanted) -> Agent:
        return make_oracle(
            wanted.project,
            model=wanted.model,
            budget=wanted.budget,
            tree=wanted.tree,
            on_limit=wanted.on_limit,
            config=context.app.config,
        )

    return make


async def questions_of(request: Request) -> Questions:
    """Not in a thread, as ``context_of``."""
    return request.app.state.questions


QuestionsHere = Annotated[Questions, Depends(questions_of)]
"""For a route's parameter: ``questions: QuestionsHere``."""
