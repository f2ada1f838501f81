"""The composition root: the only room that chooses a store, a model and tools."""

from __future__ import annotations

from endstop.app.agents import agent_of, make_agent
from endstop.app.config import Config, read_config
from endstop.app.library import resume, run
from endstop.app.opened import App, SystemClock, open_app

__all__ = [
    "App",
    "Config",
    "SystemClock",
    "agent_of",
    "make_agent",
    "open_app",
    "read_config",
    "resume",
    "run",
]
