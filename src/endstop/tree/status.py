"""How a node of a tree stands after a tick."""

from __future__ import annotations

from enum import Enum


class RunStatus(Enum):
    """What a tick of a node tells the node above it."""

    SUCCESS = "success"
    FAILURE = "failure"
    RUNNING = "running"
    """It goes on beside the tick: look again when something has happened."""
