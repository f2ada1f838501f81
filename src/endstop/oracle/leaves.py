"""The leaves that trees of agents are made of, in one registry. Importing this registers them all."""

from __future__ import annotations

from endstop.oracle import actions, conditions, routing
from endstop.oracle.registry import LEAVES

__all__ = ["LEAVES", "actions", "conditions", "routing"]
