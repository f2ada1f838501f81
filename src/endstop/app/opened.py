"""Endstop with its parts chosen: what the terminal and the server work with."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from endstop.app.agents import agent_of
from endstop.app.config import Config, read_config, require_folder
from endstop.app.oracle_config import oracle_config
from endstop.guard.clock import SystemClock
from endstop.kernel.settings import AgentSettings
from endstop.ports import WholeStore
from endstop.runner import Runner
from endstop.store import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """Endstop with its parts chosen."""

    config: Config
    store: WholeStore
    runner: Runner

    @property
    def default_settings(self) -> AgentSettings:
        """What holds for a user who has set nothing: the defaults, or those of the environment (I4)."""
        return oracle_config().settings

    async def settings(self) -> AgentSettings:
        """What the user has set, on top of the defaults."""
        return self.default_settings.changed(await self.store.settings(self.config.user))


@asynccontextmanager
async def open_app(config: Config | None = None, *, hands_out: bool = False) -> AsyncGenerator[App]:
    """Endstop on its database; closed, with every run left resumable, at the end.

    ``hands_out``: runs are handed to workers on the same PostgreSQL database, and none is driven here.
    """
    config = read_config() if config is None else config
    require_folder(config)
    async with AsyncExitStack() as opened:
        store = await open_store(config.database_url)
        opened.push_async_callback(store.close)
        runner = Runner(store, clock=SystemClock(), agent_of=agent_of)
        if hands_out:
            from endstop.app.scale import open_dispatcher  # with the queue, which few programs need

            runner = await opened.enter_async_context(open_dispatcher(config, store))
        opened.push_async_callback(runner.shutdown)
        yield App(config=config, store=store, runner=runner)
