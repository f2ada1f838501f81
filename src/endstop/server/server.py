"""The server with its parts put together: routes, access, errors, streams; what it does first and last."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI

from endstop.app import App
from endstop.app.oracle import tree_library
from endstop.server import (
    routes_bound,
    routes_coding,
    routes_coding_work,
    routes_conversations,
    routes_health,
    routes_models,
    routes_notifications,
    routes_oracle,
    routes_page,
    routes_reviews,
    routes_run_views,
    routes_runs,
    routes_session,
    routes_settings,
    routes_tokens,
    routes_trees,
)
from endstop.server.access import Access, install_access
from endstop.server.coding_repositories import Repositories
from endstop.server.coding_sessions import CodingSessions
from endstop.server.context import Context
from endstop.server.description import describe
from endstop.server.hub import HEARTBEAT_S, Hub
from endstop.server.measuring import install_measures
from endstop.server.pace import InTurn
from endstop.server.problems import SafeJson, install_problems
from endstop.server.questions import MakeAgent, Questions, oracle_maker
from endstop.store.address import parse_address

if TYPE_CHECKING:
    from endstop.runner.scale.engine import QueueState
    from endstop.server.metrics import Metric
    from endstop.server.remote import RemoteRuns

_ROUTES = (
    routes_session,
    routes_tokens,
    routes_oracle,
    routes_runs,
    routes_run_views,
    routes_reviews,
    routes_conversations,
    routes_notifications,
    routes_settings,
    routes_models,
    routes_trees,
    routes_bound,
    routes_coding,
    routes_coding_work,
    routes_health,
    routes_page,  # the last: it takes what the others leave
)

_ABOUT = (
    "Agents that always end: on purpose, inside their budget, with their work saved, and with a reason you "
    "can read. Every error has one shape: a code, what happened, what is allowed, what to do."
)


def make_server(
    app: App,
    access: Access,
    *,
    make_agent: MakeAgent | None = None,
    project: str | None = None,
    allowed_projects: Sequence[Path] = (),
    repositories: Sequence[Path] = (),
    recovers: bool = True,
    heartbeat_s: float = HEARTBEAT_S,
) -> FastAPI:
    """The server. ``project`` is asked about where a question names none; ``allowed_projects`` and what is
    in them are the only folders that may be named, if there are any. ``repositories`` are those that coding
    sessions may work in, beside the project; whoever started it on their own machine may name any."""
    server = FastAPI(
        title="Endstop",
        version=version("endstop"),
        description=_ABOUT,
        lifespan=_lifespan,
        default_response_class=SafeJson,
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
    )
    for routes in _ROUTES:
        server.include_router(routes.router)
    install_problems(server)
    measures = install_measures(server)
    if not app.runner.is_inline:
        measures.elsewhere = _queue_figures(app)
    hub = Hub(
        app.store,
        app.runner,
        measures=measures,
        heartbeat_s=heartbeat_s,
        remote=_remote_runs(app),
    )
    install_access(server)
    server.add_middleware(InTurn)
    context = Context(app=app, access=access, hub=hub, trees=tree_library(app.config))
    server.state.context = context
    server.state.recovers = recovers
    server.state.questions = Questions(
        make_agent=oracle_maker(context) if make_agent is None else make_agent,
        project=project,
        allowed_projects=tuple(path.resolve() for path in allowed_projects),
    )
    served = (*repositories, *(() if project is None else (Path(project),)))
    server.state.coding = CodingSessions(
        repositories=Repositories(
            access=access,
            served=tuple(dict.fromkeys(path.expanduser().resolve() for path in served)),
            examples=app.config.home / "examples",
        )
    )
    return describe(server)


@asynccontextmanager
async def _lifespan(server: FastAPI) -> AsyncGenerator[None]:
    """Go on with the runs that were left open, while others are let in already; at the end, let the turns
    under way finish (D10)."""
    context: Context = server.state.context
    context.hub.listen()
    if server.state.recovers:
        context.hub.keep_recovering()
    try:
        yield
    finally:
        context.hub.close()
        await context.app.runner.shutdown()
        await context.hub.aclose()


def _remote_runs(app: App) -> RemoteRuns | None:
    """What hears of runs that live in workers; None where they are driven here."""
    if app.runner.is_inline:
        return None
    from endstop.runner.scale.dispatcher import Dispatcher  # with the queue, which few servers need
    from endstop.server.remote import RemoteRuns  # with the driver of PostgreSQL

    assert isinstance(app.runner, Dispatcher), "it hands out"
    return RemoteRuns(parse_address(app.config.database_url), has_worker=app.runner.has_worker)


def _queue_figures(app: App) -> Callable[[], Awaitable[Sequence[Metric]]]:
    """What tells how the queue stands, where runs are handed out."""
    from endstop.runner.scale.dispatcher import Dispatcher  # with the queue, which few servers need
    from endstop.runner.scale.worker import SILENT_S
    from endstop.server.queueing import QueueFigures

    assert isinstance(app.runner, Dispatcher), "it hands out"
    engine = app.runner.engine

    async def read() -> tuple[QueueState, dict[str, int]]:
        return await engine.state(silent_s=SILENT_S), await engine.counts()

    return QueueFigures(read).metrics
