"""Where runs live: started, resumed, cancelled, reviewed and recovered in this process."""

from __future__ import annotations

from endstop.runner.run import Run
from endstop.runner.runner import AgentOf, Runner

__all__ = ["AgentOf", "Run", "Runner"]
